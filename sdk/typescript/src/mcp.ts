/** An MCP client, guarded. */
import { asText } from "./content.js";
import { GatewayError, ToolFailed, ToolPermissionError } from "./errors.js";
import type { CallOptions, Session } from "./session.js";

/** As much of an MCP client as is used here. */
export interface ToolCaller {
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<unknown>;
}

/** What a guarded call gives: what the agent may see of the server's answer. */
export interface GuardedResult {
  content: { type: "text"; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

/**
 * The client's `callTool`, through the session's gateway. The gateway reads the structured content where there is one, and
 * the text of the answer otherwise. A refusal or a failure is a result with `isError`, in words the model can use.
 */
export function guardClient(
  session: Session,
  client: ToolCaller,
  options: CallOptions = {},
): (params: { name: string; arguments?: Record<string, unknown> }) => Promise<GuardedResult> {
  return async ({ name, arguments: args = {} }) => {
    let failed = false;
    const run = async (cleared: Record<string, unknown>) => {
      const result = (await client.callTool({ name, arguments: cleared })) as Answered;
      failed = result.isError === true;
      return result.structuredContent ?? textOf(result);
    };
    try {
      return shown(await session.call(name, args, run, options), failed);
    } catch (error) {
      if (error instanceof ToolPermissionError || error instanceof GatewayError || error instanceof ToolFailed) {
        return shown(error.answer(), true);
      }
      throw error;
    }
  };
}

function shown(seen: unknown, failed: boolean): GuardedResult {
  const result: GuardedResult = { content: [{ type: "text", text: asText(seen) }] };
  if (failed) {
    result.isError = true;
  } else if (typeof seen === "object" && seen !== null && !Array.isArray(seen)) {
    result.structuredContent = seen as Record<string, unknown>;
  }
  return result;
}

interface Answered {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
}

/** The text of an answer; blocks of another kind are handed over as they are, and classed by their source. */
function textOf(result: Answered): unknown {
  const blocks = Array.isArray(result.content) ? (result.content as { type?: unknown; text?: unknown }[]) : [];
  const texts = blocks.filter((block) => block.type === "text").map((block) => String(block.text));
  return texts.length === blocks.length ? texts.join("\n") : blocks;
}
