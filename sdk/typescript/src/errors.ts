/** What a refusal is made of. Names and classes only, never data. */
export interface Refusal {
  readonly tool: string;
  readonly rule: string;
  readonly reason: string;
  readonly remedy: string;
  readonly retryable: boolean;
}

/** A tool was called that may not run now; its code did not run. */
export class ToolPermissionError extends Error implements Refusal {
  override readonly name = "ToolPermissionError";
  readonly tool: string;
  readonly rule: string;
  readonly reason: string;
  readonly remedy: string;
  readonly retryable: boolean;

  constructor(refusal: Refusal, options?: ErrorOptions) {
    super(refusal.reason, options);
    this.tool = refusal.tool;
    this.rule = refusal.rule;
    this.reason = refusal.reason;
    this.remedy = refusal.remedy;
    this.retryable = refusal.retryable;
  }

  /** The refusal as an agent can use it: what happened, and what to do instead. */
  answer(): string {
    return `${this.reason}. What to do instead: ${this.remedy}.`;
  }
}

/** A gateway did not do what it was asked; nothing was allowed or released. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  /** The status of the answer; none when there was no answer. */
  readonly status: number | undefined;
  /** The kind of problem, as the gateway names it. */
  readonly type: string | undefined;

  constructor(detail: string, status?: number, type?: string) {
    super(detail);
    this.status = status;
    this.type = type;
  }

  /** The failure as an agent can use it. */
  answer(): string {
    return `${this.message}. Nothing was passed on.`;
  }
}

/** A tool ran and threw an error. That error is gone: the message is what the agent may see of what it said. */
export class ToolFailed extends Error {
  override readonly name = "ToolFailed";
  readonly tool: string;

  constructor(seen: string, tool: string) {
    super(seen);
    this.tool = tool;
  }

  /** The failure as an agent can use it. */
  answer(): string {
    return `tool "${this.tool}" failed: ${this.message || "it did not say why"}`;
  }
}
