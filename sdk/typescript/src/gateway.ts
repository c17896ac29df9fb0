import { GatewayError } from "./errors.js";

/** Where a gateway is, and who asks. */
export interface GatewayOptions {
  /** Its address; `TIDEGATE_URL` unless it is given. */
  url?: string;
  /** A token; `TIDEGATE_TOKEN` unless it is given. */
  token?: string;
  /** How long one question may take. */
  timeoutMs?: number;
}

/** Asks a gateway. Every failure is an error, and no error repeats what was sent. */
export class Gateway {
  readonly #url: string;
  readonly #token: string;
  readonly #timeoutMs: number;

  constructor(options: GatewayOptions = {}) {
    const url = options.url ?? process.env["TIDEGATE_URL"];
    const token = options.token ?? process.env["TIDEGATE_TOKEN"];
    if (!url || !token) {
      throw new TypeError("a gateway needs an address and a token: set TIDEGATE_URL and TIDEGATE_TOKEN, or pass them");
    }
    this.#url = url.replace(/\/+$/, "");
    this.#token = token;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
  }

  async ask<T>(method: "GET" | "POST", path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#token}` };
    const init: RequestInit = { method, headers, redirect: "error", signal: AbortSignal.timeout(this.#timeoutMs) };
    if (body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(body);
    }
    const [response, answer] = await this.#fetch(path, init);
    if (response.ok && answer !== undefined) {
      return answer as T;
    }
    const problem = (typeof answer === "object" && answer !== null ? answer : {}) as Record<string, unknown>;
    const detail = problem["detail"] ?? problem["title"] ?? `the gateway answered ${response.status}`;
    const type = problem["type"];
    throw new GatewayError(String(detail), response.status, typeof type === "string" ? type : undefined);
  }

  async #fetch(path: string, init: RequestInit): Promise<[Response, unknown]> {
    let response;
    let text;
    try {
      response = await fetch(this.#url + path, init);
      text = await response.text();
    } catch (error) {
      const what = error instanceof Error ? error.name : "error";
      throw new GatewayError(`the gateway cannot be asked: ${what}`);
    }
    try {
      return [response, JSON.parse(text)];
    } catch {
      return [response, undefined];
    }
  }
}
