import { type Arguments } from "./arguments.js";
import { Gateway, type GatewayOptions } from "./gateway.js";
import type { ChunkBody, ContextAnswer, DecisionAnswer, GateAnswer, GatesAnswer, HandleAnswer, ManifestAnswer, OutputAnswer, OutputBody, PlanAnswer, PlannedCallBody, ResolveAnswer, ResponseAnswer, StateAnswer } from "./generated/api.js";
/** The classes of data, least restrictive first. */
export declare const SENSITIVITIES: readonly ["public", "internal", "confidential", "pii", "secret"];
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
export declare class Session {
    #private;
    /** The session's handle. */
    readonly id: string;
    /** The gateway it is at, for everything else that can be asked. */
    readonly gateway: Gateway;
    private constructor();
    /** Opens a session, or finds it again. */
    static open(options?: SessionOptions): Promise<Session>;
    /** The label, how it got there, and what that closes. */
    state(): Promise<StateAnswer>;
    /** Every tool with its class, its ceiling and what calling it would close, and a few lines for a system prompt. */
    manifest(): Promise<ManifestAnswer>;
    /** Whether every call of a plan would pass, and an order in which it does. */
    validatePlan(plannedCalls: readonly PlannedCallBody[]): Promise<PlanAnswer>;
    /** Whether a call may pass, before it is made. Where a person must decide, `waitSeconds` waits for them. */
    authorize(tool: string, args?: Arguments, options?: WaitOptions): Promise<DecisionAnswer>;
    /** The same, with the values of stubs and handles in the arguments. For a connector's token; no agent may see it. */
    resolve(tool: string, args?: Arguments): Promise<ResolveAnswer>;
    /** Brings a tool's answer in. What comes back is what the agent may see, after the label has risen. */
    deliver(tool: string, content: unknown, options?: {
        seal?: boolean;
    }): Promise<ResponseAnswer>;
    /** A handle to a part of a sealed result, by JSON pointer. */
    select(handle: string, pointer: string): Promise<HandleAnswer>;
    /** Puts a context together from chunks with origin and source. */
    context(chunks: readonly ChunkBody[]): Promise<ContextAnswer>;
    /** Checks a model's output before a person sees it. */
    output(text: string, options?: Partial<Omit<OutputBody, "text">>): Promise<OutputAnswer>;
    /** Registers a dataset. Known already, it can only be raised. */
    addDataset(name: string, sensitivity?: DataSensitivity): Promise<StateAnswer>;
    /** What of this session waits for a person, or was decided by one (`all`). */
    gates(state?: "open" | "decided" | "all"): Promise<GatesAnswer>;
    /** One question to a person, at once or when it was decided or the wait is over. */
    gate(gate: string, options?: WaitOptions): Promise<GateAnswer>;
    /** A person's decision at a gate. */
    decideGate(id: string, decision: "approve" | "deny", reason: string): Promise<GateAnswer>;
    /**
     * Authorizes, runs, delivers. Rejects with `ToolPermissionError` before `run` where the call may not pass, and gives what
     * the agent may see of what `run` returned. An error of `run` is let in as its answer would be, and the call rejects with
     * `ToolFailed` in its place. `run` gets a copy of the arguments, the one that was asked about; where they hold stubs, it gets
     * their values, and the token must be a connector's. Arguments that are more than JSON holds are refused.
     */
    call<A extends object>(tool: string, args: A, run: (args: A) => unknown, options?: CallOptions): Promise<unknown>;
    /** The same for a model: a refusal or a failure is an answer in words, and nothing is thrown for it. */
    answer<A extends object>(tool: string, args: A, run: (args: A) => unknown, options?: CallOptions): Promise<unknown>;
}
