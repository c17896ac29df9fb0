// The calls of an MCP client, guarded. The server is in this process; any other would do.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Session } from "tidegate";
import { guardClient } from "tidegate/mcp";
import * as desk from "./desk.mjs";

const server = new Server({ name: "desk", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
  const result = desk.tools[params.name](params.arguments);
  return { content: [{ type: "text", text: typeof result === "string" ? result : JSON.stringify(result) }] };
});
const client = new Client({ name: "agent", version: "1" });
const [here, there] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(there), client.connect(here)]);

const session = await Session.open({ user: "desk" });
const plan = await session.validatePlan(desk.hastyPlan);
console.log(`plan valid: ${plan.valid}; safe order: ${plan.safe_ordering}`);
const callTool = guardClient(session, client);
for (const [name, args] of desk.script) {
  const result = await callTool({ name, arguments: args });
  desk.show(name, result.content[0].text);
}
desk.finish();
await client.close();
