import type { CallOptions, Session } from "./session.js";
/** As much of an MCP client as is used here. */
export interface ToolCaller {
    callTool(params: {
        name: string;
        arguments?: Record<string, unknown>;
    }): Promise<unknown>;
}
/** What a guarded call gives: what the agent may see of the server's answer. */
export interface GuardedResult {
    content: {
        type: "text";
        text: string;
    }[];
    structuredContent?: Record<string, unknown>;
    isError?: boolean;
}
/**
 * The client's `callTool`, through the session's gateway. The gateway reads the structured content where there is one, and
 * the text of the answer otherwise. A refusal or a failure is a result with `isError`, in words the model can use.
 */
export declare function guardClient(session: Session, client: ToolCaller, options?: CallOptions): (params: {
    name: string;
    arguments?: Record<string, unknown>;
}) => Promise<GuardedResult>;
