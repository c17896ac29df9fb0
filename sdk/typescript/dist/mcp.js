/** An MCP client, guarded. */
import { asText } from "./content.js";
import { GatewayError, ToolFailed, ToolPermissionError } from "./errors.js";
/**
 * The client's `callTool`, through the session's gateway. The gateway reads the structured content where there is one, and
 * the text of the answer otherwise. A refusal or a failure is a result with `isError`, in words the model can use.
 */
export function guardClient(session, client, options = {}) {
    return async ({ name, arguments: args = {} }) => {
        let failed = false;
        const run = async (cleared) => {
            const result = (await client.callTool({ name, arguments: cleared }));
            failed = result.isError === true;
            return result.structuredContent ?? textOf(result);
        };
        try {
            return shown(await session.call(name, args, run, options), failed);
        }
        catch (error) {
            if (error instanceof ToolPermissionError || error instanceof GatewayError || error instanceof ToolFailed) {
                return shown(error.answer(), true);
            }
            throw error;
        }
    };
}
function shown(seen, failed) {
    const result = { content: [{ type: "text", text: asText(seen) }] };
    if (failed) {
        result.isError = true;
    }
    else if (typeof seen === "object" && seen !== null && !Array.isArray(seen)) {
        result.structuredContent = seen;
    }
    return result;
}
/** The text of an answer; blocks of another kind are handed over as they are, and classed by their source. */
function textOf(result) {
    const blocks = Array.isArray(result.content) ? result.content : [];
    const texts = blocks.filter((block) => block.type === "text").map((block) => String(block.text));
    return texts.length === blocks.length ? texts.join("\n") : blocks;
}
