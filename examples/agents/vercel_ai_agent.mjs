// Tools of the Vercel AI SDK, guarded.

import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { Session } from "tidegate";
import { guardTools } from "tidegate/ai";
import * as desk from "./desk.mjs";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const steps = desk.script.map(([toolName, input], number) => ({
  content: [{ type: "tool-call", toolCallId: `call-${number}`, toolName, input: JSON.stringify(input) }],
  finishReason: { unified: "tool-calls" },
  usage,
  warnings: [],
}));
const last = { content: [{ type: "text", text: "Done." }], finishReason: { unified: "stop" }, usage, warnings: [] };
const scripted = [...steps, last];
const model = new MockLanguageModelV3({ doGenerate: async () => scripted.shift() });

const inputSchema = jsonSchema({ type: "object", additionalProperties: { type: "string" } });
const tools = Object.entries(desk.tools).map(([name, execute]) => [name, tool({ inputSchema, execute })]);

const session = await Session.open({ user: "desk" });
const plan = await session.validatePlan(desk.hastyPlan);
console.log(`plan valid: ${plan.valid}; safe order: ${plan.safe_ordering}`);
const result = await generateText({
  model,
  system: (await session.manifest()).planning_constraint,
  prompt: "Go on.",
  tools: guardTools(session, Object.fromEntries(tools)),
  stopWhen: stepCountIs(scripted.length),
});
for (const { toolName, output } of result.steps.flatMap((step) => step.toolResults)) {
  desk.show(toolName, output);
}
desk.finish();
