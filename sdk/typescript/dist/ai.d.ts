/** Tools of the Vercel AI SDK, guarded. */
import type { CallOptions, Session } from "./session.js";
/** As much of a tool as is changed here; everything else of it stays. */
interface Executable {
    execute?: ((input: never, options: never) => unknown) | undefined;
}
/**
 * The same tools, by the same names, whose every call goes through the session's gateway. A refusal or a failure is the tool's
 * result, in words the model can use. A tool without `execute` runs elsewhere and is left alone.
 */
export declare function guardTools<T extends Record<string, Executable>>(session: Session, tools: T, options?: CallOptions): T;
export {};
