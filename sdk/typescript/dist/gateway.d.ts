import type { paths } from "./generated/api.js";
/** How something is asked. */
export type Method = "get" | "post";
/** The addresses that can be asked this way. */
export type PathOf<M extends Method> = {
    [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];
type Operation<P extends keyof paths, M extends Method> = paths[P][M];
type Json<R> = R extends {
    content: {
        "application/json": infer C;
    };
} ? C : never;
/** What a question holds: the parts of its address, its query, its body. */
export type Question<P extends keyof paths, M extends Method> = (Operation<P, M> extends {
    parameters: {
        path: infer A;
    };
} ? {
    path: A;
} : {
    path?: never;
}) & (Operation<P, M> extends {
    parameters: {
        query?: infer Q;
    };
} ? {
    query?: Q;
} : {
    query?: never;
}) & (Operation<P, M> extends {
    requestBody: infer B;
} ? {
    body: Json<B>;
} : {
    body?: never;
});
/** What the gateway answers. */
export type Answer<P extends keyof paths, M extends Method> = Operation<P, M> extends {
    responses: infer R;
} ? Json<R[keyof R & (200 | 201)]> : never;
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
export declare class Gateway {
    #private;
    constructor(options?: GatewayOptions);
    /** Asks anything that is in the gateway's own description, and checks the question and the answer by it. */
    request<M extends Method, P extends PathOf<M>>(method: M, path: P, question: Question<P, M>): Promise<Answer<P, M>>;
    /** Asks by address; whoever asks says what the answer is. */
    ask<T>(method: Method, path: string, body?: unknown): Promise<T>;
}
export {};
