import { GatewayError } from "./errors.js";
import type { paths } from "./generated/api.js";

/** How something is asked. */
export type Method = "get" | "post";

/** The addresses that can be asked this way. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];

type Operation<P extends keyof paths, M extends Method> = paths[P][M];
type Json<R> = R extends { content: { "application/json": infer C } } ? C : never;

/** What a question holds: the parts of its address, its query, its body. */
export type Question<P extends keyof paths, M extends Method> =
  & (Operation<P, M> extends { parameters: { path: infer A } } ? { path: A } : { path?: never })
  & (Operation<P, M> extends { parameters: { query?: infer Q } } ? { query?: Q } : { query?: never })
  & (Operation<P, M> extends { requestBody: infer B } ? { body: Json<B> } : { body?: never });

/** What the gateway answers. */
export type Answer<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { responses: infer R } ? Json<R[keyof R & (200 | 201)]> : never;

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

  /** Asks anything that is in the gateway's own description, and checks the question and the answer by it. */
  request<M extends Method, P extends PathOf<M>>(method: M, path: P, question: Question<P, M>): Promise<Answer<P, M>> {
    const parts = (question.path ?? {}) as Record<string, string>;
    const address = (path as string).replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parts[name] ?? ""));
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries((question.query ?? {}) as Record<string, unknown>)) {
      if (value !== undefined && value !== null) {
        query.set(name, String(value));
      }
    }
    const search = query.size > 0 ? `?${query}` : "";
    return this.ask(method, address + search, question.body);
  }

  /** Asks by address; whoever asks says what the answer is. */
  async ask<T>(method: Method, path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#token}` };
    const signal = AbortSignal.timeout(this.#timeoutMs);
    const init: RequestInit = { method: method.toUpperCase(), headers, redirect: "error", signal };
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
