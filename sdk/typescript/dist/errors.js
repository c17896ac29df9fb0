/** A tool was called that may not run now; its code did not run. */
export class ToolPermissionError extends Error {
    name = "ToolPermissionError";
    tool;
    rule;
    reason;
    remedy;
    retryable;
    constructor(refusal, options) {
        super(refusal.reason, options);
        this.tool = refusal.tool;
        this.rule = refusal.rule;
        this.reason = refusal.reason;
        this.remedy = refusal.remedy;
        this.retryable = refusal.retryable;
    }
    /** The refusal as an agent can use it: what happened, and what to do instead. */
    answer() {
        return `${this.reason}. What to do instead: ${this.remedy}.`;
    }
}
/** A gateway did not do what it was asked; nothing was allowed or released. */
export class GatewayError extends Error {
    name = "GatewayError";
    /** The status of the answer; none when there was no answer. */
    status;
    /** The kind of problem, as the gateway names it. */
    type;
    constructor(detail, status, type) {
        super(detail);
        this.status = status;
        this.type = type;
    }
    /** The failure as an agent can use it. */
    answer() {
        return `${this.message}. Nothing was passed on.`;
    }
}
/** A tool ran and threw an error. That error is gone: the message is what the agent may see of what it said. */
export class ToolFailed extends Error {
    name = "ToolFailed";
    tool;
    constructor(seen, tool) {
        super(seen);
        this.tool = tool;
    }
    /** The failure as an agent can use it. */
    answer() {
        return `tool "${this.tool}" failed: ${this.message || "it did not say why"}`;
    }
}
