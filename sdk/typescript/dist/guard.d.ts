import type { Session } from "./session.js";
/** How a tool is guarded. */
export interface GuardOptions {
    /** Whether its result is withheld behind a handle, so that the label does not rise. */
    seal?: boolean;
}
/**
 * A tool whose every call goes through the session's gateway: authorized before it runs, its result delivered after. Rejects
 * with `ToolPermissionError`, and the tool does not run, where the call may not pass. What it gives is what the agent may see.
 */
export declare function guardTool<A extends object>(session: Session, name: string, run: (args: A) => unknown, options?: GuardOptions): (args: A) => Promise<unknown>;
