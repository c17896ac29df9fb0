// A session at a gateway, and a tool guarded by it.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Gateway, GatewayError, Session, ToolPermissionError, guardTool } from "tidegate";
import { startGateway } from "../tools/stand.mjs";

let gateway;
let open;

before(async () => {
  gateway = await startGateway(join(process.env.TIDEGATE_ROOT, "examples/agents/tidegate.toml"));
  open = (more = {}) => Session.open({ url: gateway.url, token: gateway.token, user: "alice", ...more });
});

after(() => gateway.stop());

test("a whole session", async () => {
  const session = await open();
  assert.equal((await session.state()).sensitivity, "public");
  const { tools } = await session.manifest();
  assert.equal(tools.find(({ name }) => name === "web_search").ceiling, "public");
  const plan = await session.validatePlan(["search_email", { tool: "web_search", after: [0] }]);
  assert.deepEqual([plan.valid, plan.safe_ordering, plan.violations[0].at_step], [false, null, 1]);
  const sealed = await session.deliver("search_email", { subject: "x" }, { seal: true });
  assert.deepEqual([sealed.redacted, sealed.sensitivity], [true, "public"]);
  const part = await session.select(sealed.content.sealed, "/subject");
  assert.match(part.handle, /^\{SEALED_/);
  assert.equal((await session.deliver("search_email", "the key box")).content, "the key box");
  assert.equal((await session.authorize("web_search", { query: "x" })).rule, "label-above-ceiling");
  assert.equal((await session.addDataset("crm")).sensitivity, "confidential");
  const chunks = [{ source: "web_search", origin: "task-data", text: "Sunny." }];
  assert.match((await session.context(chunks)).context, /Sunny\./);
  assert.equal((await session.output("All is well.")).decision, "pass");
  assert.equal((await (await open({ sessionId: session.id })).state()).sensitivity, "confidential");
});

test("a guarded tool runs only when its call passes", async () => {
  const session = await open();
  const ran = [];
  const search = guardTool(session, "web_search", ({ query }) => ran.push(query));
  assert.equal(await search({ query: "a" }), 1);
  await session.addDataset("crm", "internal");
  await assert.rejects(search({ query: "b" }), (error) => {
    assert.ok(error instanceof ToolPermissionError);
    assert.deepEqual([error.tool, error.rule, error.retryable], ["web_search", "label-above-ceiling", false]);
    return /blocked/.test(error.answer());
  });
  assert.deepEqual(ran, ["a"]);
});

test("stubs become values inside a sink alone, for a connector alone", async () => {
  const session = await open();
  const booking = { guest: { email: "ada@example.org" } };
  const seen = await session.call("booking_lookup", {}, () => booking);
  assert.deepEqual(seen, { guest: { email: "{GUEST_EMAIL_1}" } });
  const sent = [];
  const mail = guardTool(session, "send_mail", ({ to }) => sent.push(to));
  await mail({ to: "{GUEST_EMAIL_1}" });
  await assert.rejects(session.call("web_search", { query: "{GUEST_EMAIL_1}" }, () => sent.push("no")), ToolPermissionError);
  assert.deepEqual(sent, ["ada@example.org"]);
  const agent = await Session.open({ url: gateway.url, token: gateway.agentToken });
  await agent.deliver("booking_lookup", booking);
  await assert.rejects(agent.call("send_mail", { to: "{GUEST_EMAIL_1}" }, () => sent.push("no")), ToolPermissionError);
  assert.equal(sent.length, 1);
});

test("what is not decided does not run", async () => {
  const session = await open();
  const ran = [];
  await assert.rejects(session.call("format_disk", {}, () => ran.push(1)), /no tool of that name/);
  assert.match(await session.answer("format_disk", {}, () => ran.push(1)), /format_disk/);
  await assert.rejects(Session.open({ url: "http://127.0.0.1:9", token: "none" }), GatewayError);
  await assert.rejects(Session.open({ url: gateway.url, token: "tg_wrong" }), (error) => !/tg_wrong/.test(error.message));
  assert.throws(() => new Gateway({ url: gateway.url }), TypeError);
  assert.deepEqual(ran, []);
});
