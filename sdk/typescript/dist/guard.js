/**
 * A tool whose every call goes through the session's gateway: authorized before it runs, its result delivered after. Rejects
 * with `ToolPermissionError`, and the tool does not run, where the call may not pass, and with `ToolFailed` where the tool
 * failed. What it gives is what the agent may see.
 */
export function guardTool(session, name, run, options = {}) {
    return (args) => session.call(name, args, run, options);
}
