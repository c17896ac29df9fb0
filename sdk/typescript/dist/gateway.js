import { GatewayError } from "./errors.js";
/** Asks a gateway. Every failure is an error, and no error repeats what was sent. */
export class Gateway {
    #url;
    #token;
    #timeoutMs;
    constructor(options = {}) {
        const url = options.url ?? process.env["TIDEGATE_URL"];
        const token = options.token ?? process.env["TIDEGATE_TOKEN"];
        if (!url || !token) {
            throw new TypeError("a gateway needs an address and a token: set TIDEGATE_URL and TIDEGATE_TOKEN, or pass them");
        }
        this.#url = url.replace(/\/+$/, "");
        this.#token = token;
        this.#timeoutMs = options.timeoutMs ?? 30_000;
    }
    /** Asks anything that is in the gateway's own description, and checks the question and the answer by it. */
    request(method, path, question) {
        const parts = (question.path ?? {});
        const address = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(parts[name] ?? ""));
        const query = new URLSearchParams();
        for (const [name, value] of Object.entries((question.query ?? {}))) {
            if (value !== undefined && value !== null) {
                query.set(name, String(value));
            }
        }
        const search = query.size > 0 ? `?${query}` : "";
        return this.ask(method, address + search, question.body);
    }
    /** Asks by address; whoever asks says what the answer is. */
    async ask(method, path, body) {
        const headers = { authorization: `Bearer ${this.#token}` };
        const signal = AbortSignal.timeout(this.#timeoutMs);
        const init = { method: method.toUpperCase(), headers, redirect: "error", signal };
        if (body !== undefined) {
            headers["content-type"] = "application/json";
            init.body = JSON.stringify(body);
        }
        const [response, answer] = await this.#fetch(path, init);
        if (response.ok && answer !== undefined) {
            return answer;
        }
        const problem = (typeof answer === "object" && answer !== null ? answer : {});
        const detail = problem["detail"] ?? problem["title"] ?? `the gateway answered ${response.status}`;
        const type = problem["type"];
        throw new GatewayError(String(detail), response.status, typeof type === "string" ? type : undefined);
    }
    async #fetch(path, init) {
        let response;
        let text;
        try {
            response = await fetch(this.#url + path, init);
            text = await response.text();
        }
        catch (error) {
            const what = error instanceof Error ? error.name : "error";
            throw new GatewayError(`the gateway cannot be asked: ${what}`);
        }
        try {
            return [response, JSON.parse(text)];
        }
        catch {
            return [response, undefined];
        }
    }
}
