/** What a refusal is made of. Names and classes only, never data. */
export interface Refusal {
    readonly tool: string;
    readonly rule: string;
    readonly reason: string;
    readonly remedy: string;
    readonly retryable: boolean;
}
/** A tool was called that may not run now; its code did not run. */
export declare class ToolPermissionError extends Error implements Refusal {
    readonly name = "ToolPermissionError";
    readonly tool: string;
    readonly rule: string;
    readonly reason: string;
    readonly remedy: string;
    readonly retryable: boolean;
    constructor(refusal: Refusal, options?: ErrorOptions);
    /** The refusal as an agent can use it: what happened, and what to do instead. */
    answer(): string;
}
/** A gateway did not do what it was asked; nothing was allowed or released. */
export declare class GatewayError extends Error {
    readonly name = "GatewayError";
    /** The status of the answer; none when there was no answer. */
    readonly status: number | undefined;
    /** The kind of problem, as the gateway names it. */
    readonly type: string | undefined;
    constructor(detail: string, status?: number, type?: string);
    /** The failure as an agent can use it. */
    answer(): string;
}
/** A tool ran and threw an error. That error is gone: the message is what the agent may see of what it said. */
export declare class ToolFailed extends Error {
    readonly name = "ToolFailed";
    readonly tool: string;
    constructor(seen: string, tool: string);
    /** The failure as an agent can use it. */
    answer(): string;
}
