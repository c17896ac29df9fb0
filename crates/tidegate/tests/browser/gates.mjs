// Held calls: they appear by themselves, a person approves one and denies another, and nobody sees what their role may not.
import { agent, browse, check, checkPage, clear, signIn, until } from "./stage.mjs";

const { url, tokens, shots } = JSON.parse(process.argv[2]);
const alice = agent(url, tokens.agent);
const shoot = async (page, name) => { if (shots) await page.screenshot({ path: `${shots}/${name}.png` }); };

// Values that nobody may get who has no leave for personal data.
const RAW = ["marina.duarte@example.org", "ES91 2100 0418 4502 0005 1332"];
const draft = (subject) => ({ tool: "gmail_guest_draft", arguments: { to: RAW[0], subject, iban: RAW[1] } });
const authorize = "/v1/session/guests-1/authorize";

/** Asks again and again, as an agent does that waits for a person. */
async function decision(call) {
  for (;;) {
    const { body } = await alice(authorize, { ...call, wait_seconds: 5 });
    if (body.decision !== "hold") return body;
  }
}

/** Everything a stream sends, as bytes on the wire. */
async function listen(visit, path) {
  const cookies = await visit.context.cookies();
  const cookie = cookies.map((one) => `${one.name}=${one.value}`).join("; ");
  const stop = new AbortController();
  const heard = { text: "", stop: () => stop.abort() };
  const answer = await fetch(`${url}${path}`, { headers: { cookie }, signal: stop.signal });
  check(answer.headers.get("content-type").startsWith("text/event-stream"), `${path} streams`);
  (async () => {
    for await (const piece of answer.body) heard.text += Buffer.from(piece).toString();
  })().catch(() => {});
  return heard;
}

/** A key that moves through the queue, and the row that it leads to. */
async function step(page, key, row) {
  await page.keyboard.press(key);
  await until(`${key} chooses row ${row}`, () => page.evaluate((place) => {
    return document.querySelectorAll(".queue li")[place].matches("[data-selected]");
  }, row));
}

/** Whoever types faster than frames are drawn finds the closed dialog still holding the focus. */
async function keysReachThePageOnceTheirDialogIsClosed(page) {
  const chosen = await page.evaluate(() => {
    const dialog = document.querySelector("dialog[data-keys]");
    dialog.showModal();
    const button = document.activeElement;
    dialog.close();
    button.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
    return document.querySelector(".queue li").matches("[data-selected]");
  });
  check(chosen, "a key after the dialog was closed chooses the first row");
}

async function decidingFromTheKeyboard() {
  const visit = await browse(url);
  const { page } = visit;
  await signIn(visit, tokens.operator);
  await visit.go("/console/queue");
  await page.evaluate(() => { window.same = true; });
  check((await page.textContent("main")).includes("Nothing waits for you"), "the queue is empty");
  const stream = await listen(visit, "/console/queue/stream");

  const first = decision(draft("Your stay in May"));
  await page.waitForSelector(".queue li");
  check(await page.evaluate(() => window.same), "it appeared without a reload");
  const second = decision(draft("Your stay in June"));
  await until("both wait", async () => (await page.locator(".queue li").count()) === 2);
  await checkPage(page, "queue");
  await shoot(page, "console-queue");

  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog[data-keys]", { state: "hidden" });
  await keysReachThePageOnceTheirDialogIsClosed(page);
  await step(page, "j", 1);
  await step(page, "k", 0);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/console\/gates\//);
  const shown = await page.textContent("main");
  check(shown.includes("gmail_guest_draft") && shown.includes("Your stay in May"), shown);
  check((await page.locator("text=Show the values").count()) === 0, "an operator is not offered the values");
  await checkPage(page, "gate");
  await shoot(page, "console-gate");
  await page.keyboard.press("a");
  await page.keyboard.type("The guest asked for this letter");
  await page.keyboard.press("Enter");
  await page.waitForSelector("text=What was decided");
  check((await first).decision === "allow", "the agent's call goes on");

  await visit.go("/console/queue");
  await page.waitForSelector(".queue li");
  await page.keyboard.press("j");
  await page.keyboard.press("d");
  await page.waitForURL(/#deny-reason$/);
  await page.keyboard.type("June is not booked");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".title .tone-bad");
  const refused = await second;
  check(refused.decision === "deny", JSON.stringify(refused));

  await visit.go("/console/queue?show=decided");
  check((await page.locator(".queue li").count()) === 2, "both are told as decided");
  await visit.go("/console/sessions/guests-1");
  await until("the stream told it", () => stream.text.includes("gmail_guest_draft"));
  stream.stop();
  await Promise.all(visit.seen.pending);
  for (const raw of RAW) {
    const held = [...visit.seen.bodies, stream.text].find((text) => text.includes(raw));
    check(held === undefined, `an operator was sent ${raw}`);
  }
  check(visit.seen.bodies.some((text) => text.includes("Your stay in May")), "what may be seen was sent");
  check(visit.seen.elsewhere.length === 0, `asked elsewhere: ${visit.seen.elsewhere}`);
  check(visit.seen.broken.length === 0, visit.seen.broken.join("\n"));
  await visit.context.close();
}

async function aReviewerMayLookForAReason() {
  const call = draft("Your stay in July");
  await alice(authorize, call);
  const visit = await browse(url);
  const { page } = visit;
  await signIn(visit, tokens.reviewer);
  await visit.go("/console/queue");
  await page.click(".queue a");
  await page.waitForSelector("text=Show the values");
  check(!(await page.textContent("main")).includes(RAW[0]), "not before asking");
  await page.click("text=Show the values");
  await page.fill("#reveal-reason", "To see whom it goes to");
  await page.click("text=Show >> nth=-1");
  await page.waitForSelector("text=is on the record");
  check((await page.textContent("main")).includes(RAW[0]), "shown after giving a reason");
  await checkPage(page, "gate, revealed");
  await visit.context.close();

  const auditor = await browse(url);
  await signIn(auditor, tokens.auditor);
  await auditor.go("/console/record?event=gate_revealed");
  check((await auditor.page.textContent("main")).includes("rita"), "and it is on the record");
  await auditor.context.close();
}

async function everyLook() {
  for (const [dark, width] of [[true, 1280], [false, 360], [true, 360]]) {
    const visit = await browse(url, { dark, width, height: 780 });
    await signIn(visit, tokens.admin);
    for (const path of ["/console/queue", "/console/queue?show=decided"]) {
      await visit.go(path);
      await visit.page.waitForSelector(".queue li");
      await checkPage(visit.page, `${path} ${dark ? "dark" : "light"} at ${width}`);
      await visit.page.click(".queue a");
      await visit.page.waitForURL(/\/console\/gates\//);
      await checkPage(visit.page, `gate ${dark ? "dark" : "light"} at ${width}`);
      if (path === "/console/queue" && width < 500 && !dark) await shoot(visit.page, "console-gate-narrow");
    }
    await visit.context.close();
  }
}

try {
  await alice("/v1/sessions", { session_id: "guests-1" });
  for (const step of [decidingFromTheKeyboard, aReviewerMayLookForAReason, everyLook]) await step();
  console.log("ok");
} finally {
  clear();
}
