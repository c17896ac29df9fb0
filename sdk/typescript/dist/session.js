import { GatewayError, ToolPermissionError } from "./errors.js";
import { Gateway } from "./gateway.js";
/** The classes of data, least restrictive first. */
export const SENSITIVITIES = ["public", "internal", "confidential", "pii", "secret"];
/** A session at a gateway. */
export class Session {
    /** The session's handle. */
    id;
    /** The gateway it is at, for everything else that can be asked. */
    gateway;
    #here;
    constructor(gateway, id) {
        this.gateway = gateway;
        this.id = id;
        this.#here = { path: { id } };
    }
    /** Opens a session, or finds it again. */
    static async open(options = {}) {
        const gateway = new Gateway(options);
        const body = { session_id: options.sessionId ?? null, user: options.user ?? null, agent: options.agent ?? null };
        const opened = await gateway.request("post", "/v1/sessions", { body });
        return new Session(gateway, opened.session_id);
    }
    /** The label, how it got there, and what that closes. */
    state() {
        return this.gateway.request("get", "/v1/session/{id}", this.#here);
    }
    /** Every tool with its class, its ceiling and what calling it would close, and a few lines for a system prompt. */
    manifest() {
        return this.gateway.request("get", "/v1/session/{id}/manifest", this.#here);
    }
    /** Whether every call of a plan would pass, and an order in which it does. */
    validatePlan(plannedCalls) {
        const body = { planned_calls: [...plannedCalls] };
        return this.gateway.request("post", "/v1/session/{id}/validate-plan", { ...this.#here, body });
    }
    /** Whether a call may pass, before it is made. */
    authorize(tool, args = {}) {
        const body = { tool, arguments: args };
        return this.gateway.request("post", "/v1/session/{id}/authorize", { ...this.#here, body });
    }
    /** The same, with the values of stubs and handles in the arguments. For a connector's token; no agent may see it. */
    resolve(tool, args = {}) {
        const body = { tool, arguments: args };
        return this.gateway.request("post", "/v1/session/{id}/resolve", { ...this.#here, body });
    }
    /** Brings a tool's answer in. What comes back is what the agent may see, after the label has risen. */
    deliver(tool, content, options = {}) {
        const body = { tool, content: content, seal: options.seal ?? false };
        return this.gateway.request("post", "/v1/session/{id}/responses", { ...this.#here, body });
    }
    /** A handle to a part of a sealed result, by JSON pointer. */
    select(handle, pointer) {
        const body = { handle, pointer };
        return this.gateway.request("post", "/v1/session/{id}/handles/select", { ...this.#here, body });
    }
    /** Puts a context together from chunks with origin and source. */
    context(chunks) {
        const body = { chunks: [...chunks] };
        return this.gateway.request("post", "/v1/session/{id}/context", { ...this.#here, body });
    }
    /** Checks a model's output before a person sees it. */
    output(text, options = {}) {
        const body = { recipient_role: "human-operator", ...options, text };
        return this.gateway.request("post", "/v1/session/{id}/output", { ...this.#here, body });
    }
    /** Registers a dataset. Known already, it can only be raised. */
    addDataset(name, sensitivity = "confidential") {
        const body = { name, sensitivity };
        return this.gateway.request("post", "/v1/session/{id}/datasets", { ...this.#here, body });
    }
    /** What waits for a person, as far as this token may see it. */
    gates() {
        return this.gateway.ask("get", "/v1/gates");
    }
    /** A person's decision at a gate. */
    decideGate(gateId, decision, reason) {
        return this.gateway.ask("post", `/v1/gates/${encodeURIComponent(gateId)}/decision`, { decision, reason });
    }
    /**
     * Authorizes, runs, delivers. Rejects with `ToolPermissionError` before `run` where the call may not pass, and gives what
     * the agent may see of what `run` returned. Where the arguments hold stubs, `run` gets their values, and the token must
     * be a connector's.
     */
    async call(tool, args, run, options = {}) {
        const result = await run(await this.#cleared(tool, args));
        return (await this.deliver(tool, asJson(result), options)).content;
    }
    /** The same for a model: a refusal is an answer in words, and nothing is thrown for it. */
    async answer(tool, args, run, options = {}) {
        try {
            return await this.call(tool, args, run, options);
        }
        catch (error) {
            if (error instanceof ToolPermissionError || error instanceof GatewayError) {
                return error.answer();
            }
            throw error;
        }
    }
    /** The arguments as the tool may be given them; an error where the decision is anything but an allowance. */
    async #cleared(tool, args) {
        let decision;
        let cleared = args;
        try {
            decision = await this.authorize(tool, args);
            if (decision.unresolved) {
                const resolved = await this.resolve(tool, args);
                decision = resolved;
                cleared = (resolved.arguments ?? {});
            }
        }
        catch (error) {
            throw unanswered(tool, error);
        }
        if (decision.decision !== "allow" || decision.allowed !== true) {
            const { rule, reason, retryable } = decision;
            const remedy = decision.remedy ?? "do this step without the tool";
            throw new ToolPermissionError({ tool, rule, reason, remedy, retryable });
        }
        return cleared;
    }
}
/** No decision is a denial. */
function unanswered(tool, error) {
    if (!(error instanceof GatewayError)) {
        return error;
    }
    return new ToolPermissionError({
        tool,
        rule: error.type ?? "gateway-unavailable",
        reason: `tool "${tool}" blocked: ${error.message}`,
        remedy: "use a tool of the session's manifest; if it goes on, tell an administrator",
        retryable: error.status === undefined || error.status >= 500,
    }, { cause: error });
}
/** A result as the gateway reads it. What is no JSON is read as its text. */
function asJson(result) {
    try {
        return JSON.stringify(result) === undefined ? String(result) : result;
    }
    catch {
        return String(result);
    }
}
