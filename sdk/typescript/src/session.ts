import { copied, type Arguments } from "./arguments.js";
import { asJson, asText, told } from "./content.js";
import { GatewayError, ToolFailed, ToolPermissionError } from "./errors.js";
import { Gateway, type GatewayOptions } from "./gateway.js";
import type {
  ChunkBody,
  ContextAnswer,
  DecisionAnswer,
  GateAnswer,
  GatesAnswer,
  HandleAnswer,
  ManifestAnswer,
  OutputAnswer,
  OutputBody,
  PlanAnswer,
  PlannedCallBody,
  ResolveAnswer,
  ResponseAnswer,
  StateAnswer,
} from "./generated/api.js";

/** The classes of data, least restrictive first. */
export const SENSITIVITIES = ["public", "internal", "confidential", "pii", "secret"] as const;

/** A class of data. */
export type DataSensitivity = (typeof SENSITIVITIES)[number];

/** A session to open, or to find again. */
export interface SessionOptions extends GatewayOptions {
  /** Its id; asking again for one's own session gives it as it is. */
  sessionId?: string;
  /** For whom, where a connector's token asks. */
  user?: string;
  /** For which agent. */
  agent?: string;
}

/** How long to wait for a person where one must decide. */
export interface WaitOptions {
  waitSeconds?: number;
}

/** How a call is made. */
export interface CallOptions extends WaitOptions {
  /** Whether its result is withheld behind a handle, so that the label does not rise. */
  seal?: boolean;
}

/** A session at a gateway. */
export class Session {
  /** The session's handle. */
  readonly id: string;
  /** The gateway it is at, for everything else that can be asked. */
  readonly gateway: Gateway;
  readonly #here: { path: { id: string } };

  private constructor(gateway: Gateway, id: string) {
    this.gateway = gateway;
    this.id = id;
    this.#here = { path: { id } };
  }

  /** Opens a session, or finds it again. */
  static async open(options: SessionOptions = {}): Promise<Session> {
    const gateway = new Gateway(options);
    const body = { session_id: options.sessionId ?? null, user: options.user ?? null, agent: options.agent ?? null };
    const opened = await gateway.request("post", "/v1/sessions", { body });
    return new Session(gateway, opened.session_id);
  }

  /** The label, how it got there, and what that closes. */
  state(): Promise<StateAnswer> {
    return this.gateway.request("get", "/v1/session/{id}", this.#here);
  }

  /** Every tool with its class, its ceiling and what calling it would close, and a few lines for a system prompt. */
  manifest(): Promise<ManifestAnswer> {
    return this.gateway.request("get", "/v1/session/{id}/manifest", this.#here);
  }

  /** Whether every call of a plan would pass, and an order in which it does. */
  validatePlan(plannedCalls: readonly PlannedCallBody[]): Promise<PlanAnswer> {
    const body = { planned_calls: [...plannedCalls] };
    return this.gateway.request("post", "/v1/session/{id}/validate-plan", { ...this.#here, body });
  }

  /** Whether a call may pass, before it is made. Where a person must decide, `waitSeconds` waits for them. */
  authorize(tool: string, args: Arguments = {}, options: WaitOptions = {}): Promise<DecisionAnswer> {
    const body = { tool, arguments: args, wait_seconds: options.waitSeconds ?? null };
    return this.gateway.request("post", "/v1/session/{id}/authorize", { ...this.#here, body });
  }

  /** The same, with the values of stubs and handles in the arguments. For a connector's token; no agent may see it. */
  resolve(tool: string, args: Arguments = {}): Promise<ResolveAnswer> {
    const body = { tool, arguments: args };
    return this.gateway.request("post", "/v1/session/{id}/resolve", { ...this.#here, body });
  }

  /** Brings a tool's answer in. What comes back is what the agent may see, after the label has risen. */
  deliver(tool: string, content: unknown, options: { seal?: boolean } = {}): Promise<ResponseAnswer> {
    const body = { tool, content: content as Arguments, seal: options.seal ?? false };
    return this.gateway.request("post", "/v1/session/{id}/responses", { ...this.#here, body });
  }

  /** A handle to a part of a sealed result, by JSON pointer. */
  select(handle: string, pointer: string): Promise<HandleAnswer> {
    const body = { handle, pointer };
    return this.gateway.request("post", "/v1/session/{id}/handles/select", { ...this.#here, body });
  }

  /** Puts a context together from chunks with origin and source. */
  context(chunks: readonly ChunkBody[]): Promise<ContextAnswer> {
    const body = { chunks: [...chunks] };
    return this.gateway.request("post", "/v1/session/{id}/context", { ...this.#here, body });
  }

  /** Checks a model's output before a person sees it. */
  output(text: string, options: Partial<Omit<OutputBody, "text">> = {}): Promise<OutputAnswer> {
    const body = { recipient_role: "human-operator", ...options, text };
    return this.gateway.request("post", "/v1/session/{id}/output", { ...this.#here, body });
  }

  /** Registers a dataset. Known already, it can only be raised. */
  addDataset(name: string, sensitivity: DataSensitivity = "confidential"): Promise<StateAnswer> {
    const body = { name, sensitivity };
    return this.gateway.request("post", "/v1/session/{id}/datasets", { ...this.#here, body });
  }

  /** What of this session waits for a person, or was decided by one (`all`). */
  gates(state: "open" | "decided" | "all" = "open"): Promise<GatesAnswer> {
    return this.gateway.request("get", "/v1/session/{id}/gates", { ...this.#here, query: { state } });
  }

  /** One question to a person, at once or when it was decided or the wait is over. */
  gate(gate: string, options: WaitOptions = {}): Promise<GateAnswer> {
    const query = options.waitSeconds === undefined ? {} : { wait: options.waitSeconds };
    return this.gateway.request("get", "/v1/session/{id}/gates/{gate}", { path: { id: this.id, gate }, query });
  }

  /** A person's decision at a gate. */
  decideGate(id: string, decision: "approve" | "deny", reason: string): Promise<GateAnswer> {
    return this.gateway.request("post", "/v1/gates/{id}/decision", { path: { id }, body: { decision, reason } });
  }

  /**
   * Authorizes, runs, delivers. Rejects with `ToolPermissionError` before `run` where the call may not pass, and gives what
   * the agent may see of what `run` returned. An error of `run` is let in as its answer would be, and the call rejects with
   * `ToolFailed` in its place. `run` gets a copy of the arguments, the one that was asked about; where they hold stubs, it gets
   * their values, and the token must be a connector's. Arguments that are more than JSON holds are refused.
   */
  async call<A extends object>(
    tool: string,
    args: A,
    run: (args: A) => unknown,
    options: CallOptions = {},
  ): Promise<unknown> {
    const cleared = await this.#cleared(tool, args, options);
    let result: unknown;
    let failed = false;
    try {
      result = asJson(await run(cleared));
    } catch (error) {
      if (error instanceof ToolPermissionError || error instanceof GatewayError) {
        throw error;
      }
      // What it says is content.
      [result, failed] = [told(error), true];
    }
    const seen = (await this.deliver(tool, result, options)).content;
    if (failed) {
      throw new ToolFailed(asText(seen), tool);
    }
    return seen;
  }

  /** The same for a model: a refusal or a failure is an answer in words, and nothing is thrown for it. */
  async answer<A extends object>(
    tool: string,
    args: A,
    run: (args: A) => unknown,
    options: CallOptions = {},
  ): Promise<unknown> {
    try {
      return await this.call(tool, args, run, options);
    } catch (error) {
      if (error instanceof ToolPermissionError || error instanceof GatewayError || error instanceof ToolFailed) {
        return error.answer();
      }
      throw error;
    }
  }

  /** The arguments as the tool may be given them; an error where the decision is anything but an allowance. */
  async #cleared<A extends object>(tool: string, args: A, options: WaitOptions): Promise<A> {
    const asked = copied(tool, args);
    let decision: DecisionAnswer | ResolveAnswer;
    try {
      const asking = mayHoldStubs(asked) ? this.#resolved(tool, asked, options) : this.authorize(tool, asked, options);
      decision = await asking;
    } catch (error) {
      throw unanswered(tool, error);
    }
    refuse(tool, decision);
    return ("arguments" in decision ? decision.arguments : asked) as A;
  }

  /** A person's approval is good for one decision, so a call that may hold stubs is decided where they resolve. */
  async #resolved(tool: string, args: Arguments, options: WaitOptions): Promise<DecisionAnswer | ResolveAnswer> {
    try {
      const decision = await this.resolve(tool, args);
      if (decision.decision !== "hold" || !decision.gate_id || options.waitSeconds === undefined) {
        return decision;
      }
      await this.gate(decision.gate_id, options);
      return await this.resolve(tool, args);
    } catch (error) {
      // Only a connector may see the values; whether there are any, anyone may ask.
      if (error instanceof GatewayError && error.status === 403) {
        return this.authorize(tool, args, options);
      }
      throw error;
    }
  }
}

/** Throws unless the decision is an allowance and nothing else. */
function refuse(tool: string, decision: DecisionAnswer): void {
  const { rule, reason, retryable } = decision;
  if (decision.decision !== "allow" || decision.allowed !== true) {
    const remedy = decision.remedy ?? "do this step without the tool";
    throw new ToolPermissionError({ tool, rule, reason, remedy, retryable });
  }
  if (decision.unresolved) {
    throw new ToolPermissionError({
      tool,
      rule: "stub-unresolved",
      reason: `tool "${tool}" blocked: its arguments hold stubs or handles, and this token may not see their values`,
      remedy: "call it without them, or have the program use a connector's token",
      retryable: true,
    });
  }
}

/** Whether a stub or a handle could be in the arguments: every one begins with a brace. */
function mayHoldStubs(value: unknown): boolean {
  if (typeof value === "string") {
    return /[{\uff5b]/.test(value);
  }
  return typeof value === "object" && value !== null && Object.entries(value).some((pair) => pair.some(mayHoldStubs));
}

/** No decision is a denial. */
function unanswered(tool: string, error: unknown): unknown {
  if (!(error instanceof GatewayError)) {
    return error;
  }
  return new ToolPermissionError(
    {
      tool,
      rule: error.type ?? "gateway-unavailable",
      reason: `tool "${tool}" blocked: ${error.message}`,
      remedy: "use a tool of the session's manifest; if it goes on, tell an administrator",
      retryable: error.status === undefined || error.status >= 500,
    },
    { cause: error },
  );
}
