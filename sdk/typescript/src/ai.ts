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
export function guardTools<T extends Record<string, Executable>>(
  session: Session,
  tools: T,
  options: CallOptions = {},
): T {
  const guarded = Object.entries(tools).map(([name, tool]) => {
    const execute = tool.execute as ((input: object, options: unknown) => unknown) | undefined;
    if (!execute) {
      return [name, tool];
    }
    const run = (input: object, call: unknown) =>
      session.answer(name, input, (args) => execute.call(tool, args, call), options);
    return [name, { ...tool, execute: run }];
  });
  return Object.fromEntries(guarded) as T;
}
