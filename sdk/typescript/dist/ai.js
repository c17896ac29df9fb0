/**
 * The same tools, by the same names, whose every call goes through the session's gateway. A refusal or a failure is the tool's
 * result, in words the model can use. A tool without `execute` runs elsewhere and is left alone.
 */
export function guardTools(session, tools, options = {}) {
    const guarded = Object.entries(tools).map(([name, tool]) => {
        const execute = tool.execute;
        if (!execute) {
            return [name, tool];
        }
        const run = (input, call) => session.answer(name, input, (args) => execute.call(tool, args, call), options);
        return [name, { ...tool, execute: run }];
    });
    return Object.fromEntries(guarded);
}
