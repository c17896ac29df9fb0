export { GatewayError, ToolFailed, ToolPermissionError } from "./errors.js";
export { Gateway } from "./gateway.js";
export { guardTool } from "./guard.js";
export { SENSITIVITIES, Session, } from "./session.js";
