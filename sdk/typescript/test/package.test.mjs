// The package as a whole: what is made is made from what is there, and the README and the examples are true.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { build, writeTypes } from "../tools/made.mjs";
import { startGateway } from "../tools/stand.mjs";

const root = process.env.TIDEGATE_ROOT;
const place = mkdtempSync(join(tmpdir(), "tidegate-"));
let gateway;

before(async () => {
  gateway = await startGateway(join(root, "examples/agents/tidegate.toml"));
});

after(async () => {
  await gateway.stop();
  rmSync(place, { recursive: true });
});

const run = (program, args, cwd, token = gateway.token) => {
  const env = { HOME: place, PATH: process.env.PATH, TIDEGATE_URL: gateway.url, TIDEGATE_TOKEN: token };
  return execFileSync(program, args, { cwd, env, stdio: "pipe" }).toString();
};

test("the types are those of the gateway's own description (cargo xtask sdk-types writes them)", async () => {
  const made = join(place, "api.ts");
  await writeTypes(gateway.url, place, made);
  assert.equal(readFileSync("src/generated/api.ts", "utf8"), readFileSync(made, "utf8"));
});

test("dist is what src compiles to (cargo xtask sdk-types builds it)", () => {
  const made = join(place, "dist");
  build(made);
  const files = (directory) => readdirSync(directory, { recursive: true }).filter((name) => /\.(js|ts)$/.test(name));
  assert.deepEqual(files("dist").sort(), files(made).sort());
  for (const name of files(made)) {
    assert.equal(readFileSync(join("dist", name), "utf8"), readFileSync(join(made, name), "utf8"), name);
  }
});

test("npm installs it from its directory, and the README's first example runs as printed", () => {
  const fresh = mkdtempSync(join(place, "fresh-"));
  writeFileSync(join(fresh, "package.json"), '{"private": true, "type": "module"}\n');
  run("npm", ["install", "--no-audit", "--no-fund", join(root, "sdk/typescript")], fresh);
  const readme = readFileSync(join(root, "sdk/typescript/README.md"), "utf8");
  const [program, printed] = [...readme.matchAll(/```(?:js|text)\n(.*?)```/gs)].map(([, text]) => text);
  writeFileSync(join(fresh, "example.js"), program);
  assert.equal(run("node", ["example.js"], fresh, gateway.agentToken), printed);
});

for (const name of readdirSync("examples").filter((name) => /_.*\.mjs$/.test(name))) {
  test(`${name} shows block, plan, stub and seal`, () => {
    const said = run("node", [name], "examples");
    assert.match(said, /^plan valid: false; safe order: web_search,search_email$/m);
    const seen = [...said.matchAll(/^the model sees of (\w+): (.*)$/gm)];
    const names = ["web_search", "booking_lookup", "ledger_export", "send_mail", "search_email", "web_search"];
    assert.deepEqual(seen.map(([, tool]) => tool), names);
    const texts = seen.map(([, , text]) => text);
    assert.match(texts[1], /\{GUEST_EMAIL_1\}.*/);
    assert.match(texts[2], /\{SEALED_LEDGER_EXPORT_1\}/);
    assert.doesNotMatch(texts[2], /1001/);
    assert.match(texts[5], /blocked: session context contains internal_ip \(from search_email\)/);
    assert.doesNotMatch(texts.join(), /ada\.lovelace/i);
    assert.deepEqual([...said.matchAll(/^really done: (.*)$/gm)].map(([, what]) => what), [
      "web_search weather",
      "booking_lookup B-17",
      "ledger_export 2026",
      "send_mail to ada.lovelace@example.org",
      "search_email key box",
    ]);
  });
}
