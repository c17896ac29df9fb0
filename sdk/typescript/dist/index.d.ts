/**
 * Tidegate: labels what a session has seen, and keeps tools from carrying it out.
 *
 * `Session` is the gateway's API; `guardTool` puts it around a function. `tidegate/ai` and `tidegate/mcp` do the same for the
 * Vercel AI SDK and for MCP clients.
 */
export type { Arguments } from "./arguments.js";
export { GatewayError, ToolFailed, ToolPermissionError, type Refusal } from "./errors.js";
export { Gateway, type Answer, type GatewayOptions, type Method, type PathOf, type Question } from "./gateway.js";
export { guardTool } from "./guard.js";
export { SENSITIVITIES, Session, type CallOptions, type DataSensitivity, type SessionOptions, type WaitOptions, } from "./session.js";
export type * from "./generated/api.js";
