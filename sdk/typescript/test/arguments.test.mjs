// What a tool is given is what the gateway was asked about, and nothing beside it.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Session, ToolPermissionError, guardTool } from "tidegate";
import { guardTools } from "tidegate/ai";
import { guardClient } from "tidegate/mcp";
import { startGateway } from "../tools/stand.mjs";

const MAIL = "bob.miller@clinic-example.org";

let gateway;
let open;

before(async () => {
  gateway = await startGateway(join(process.env.TIDEGATE_ROOT, "examples/agents/tidegate.toml"));
  open = () => Session.open({ url: gateway.url, token: gateway.token, user: "alice" });
});

after(() => gateway.stop());

class Hidden {
  #mail = MAIL;
  query = "weather";
  told = () => this.#mail;
}

const itself = {};
itself.itself = itself;

const UNREADABLE = {
  map: new Map([["mail", MAIL]]),
  set: new Set([MAIL]),
  parameters: new URLSearchParams({ mail: MAIL }),
  form: (() => {
    const form = new FormData();
    form.set("mail", MAIL);
    return form;
  })(),
  headers: new Headers({ mail: MAIL }),
  bytes: new TextEncoder().encode(MAIL),
  toJSON: { mail: MAIL, toJSON: () => "weather" },
  class: new Hidden(),
  date: new Date(0),
  error: new Error(MAIL),
  boxed: new String(MAIL),
  function: () => MAIL,
  symbol: { [Symbol.for(MAIL)]: 1 },
  getter: {
    get mail() {
      throw new Error(MAIL);
    },
  },
  list: Object.assign([1], { mail: MAIL }),
  gap: [1, , 2],
  undefined: [undefined],
  bigint: 4n,
  infinite: Infinity,
  itself,
};

for (const [kind, value] of Object.entries(UNREADABLE)) {
  test(`what the gateway cannot read does not reach the tool (${kind})`, async () => {
    const session = await open();
    const ran = [];
    for (const args of [{ query: value }, { query: { deep: [value] } }]) {
      await assert.rejects(guardTool(session, "web_search", (given) => ran.push(given))(args), (error) => {
        assert.ok(error instanceof ToolPermissionError);
        assert.deepEqual([error.tool, error.rule, error.cause], ["web_search", "arguments-unreadable", undefined]);
        assert.doesNotMatch(error.stack, /bob\.miller/);
        return true;
      });
    }
    assert.deepEqual(ran, []);
  });
}

test("arguments of a kind of their own do not reach the tool either", async () => {
  const session = await open();
  const refused = { name: "ToolPermissionError", rule: "arguments-unreadable" };
  for (const args of [new Hidden(), new Map([["query", MAIL]]), [MAIL], { toJSON: () => ({}), mail: MAIL }]) {
    await assert.rejects(session.call("web_search", args, () => assert.fail("it ran")), refused);
  }
});

test("a model hears of it in words", async () => {
  const session = await open();
  const args = { query: new Map([["mail", MAIL]]) };
  const runs = () => assert.fail("it ran");
  const tools = guardTools(session, { web_search: { execute: runs } });
  const called = await guardClient(session, { callTool: runs })({ name: "web_search", arguments: args });
  assert.equal(called.isError, true);
  for (const answer of [await tools.web_search.execute(args), called.content[0].text]) {
    assert.match(answer, /^tool "web_search" blocked: .* no JSON\. What to do instead: /);
  }
});

test("what JSON holds reaches the tool as it is, and members that are undefined do not", async () => {
  const session = await open();
  const args = JSON.parse('{"query": "weather", "__proto__": {"a": [1.5, true, null, {}]}}');
  const bare = Object.assign(Object.create(null), args, { left: undefined });
  const given = [];
  for (const each of [args, bare]) {
    await session.call("web_search", each, (got) => given.push(JSON.stringify(got), Object.getPrototypeOf(got)));
  }
  const whole = [JSON.stringify(args), Object.prototype];
  assert.deepEqual(given, [...whole, ...whole]);
});

test("a change after the question does not reach the tool", async () => {
  const session = await open();
  const args = { query: { words: ["weather"] } };
  const given = [];
  const running = session.call("web_search", args, ({ query }) => given.push(...query.words));
  args.query.words.push(MAIL);
  await running;
  assert.deepEqual(given, ["weather"]);
});
