/**
 * Tidegate: labels what a session has seen, and keeps tools from carrying it out.
 *
 * `Session` is the gateway's API; `guardTool` puts it around a function. `tidegate/ai` and `tidegate/mcp` do the same for the
 * Vercel AI SDK and for MCP clients.
 */
export { GatewayError, ToolFailed, ToolPermissionError } from "./errors.js";
export { Gateway } from "./gateway.js";
export { guardTool } from "./guard.js";
export { SENSITIVITIES, Session, } from "./session.js";
