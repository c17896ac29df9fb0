// Every page, as people with different roles see it: light and dark, wide and narrow.
import { agent, browse, check, checkPage, clear, signIn, until } from "./stage.mjs";

const { url, tokens, shots, hostile } = JSON.parse(process.argv[2]);
const alice = agent(url, tokens.agent);

/** A session with a story: sources, a rise, calls that pass, are held and are blocked. */
async function story(session) {
  await alice("/v1/sessions", { session_id: session });
  const s = `/v1/session/${session}`;
  await alice(`${s}/authorize`, { tool: "web_search", arguments: { query: "opening hours" } });
  await alice(`${s}/responses`, { tool: "web_search", content: "open from nine to five" });
  await alice(`${s}/authorize`, { tool: "search_email", arguments: { query: "contract" } });
  await alice(`${s}/responses`, { tool: "search_email", content: "the contract with the harbour is ready" });
  await alice(`${s}/authorize`, { tool: "github_create_pr", arguments: { title: "update" } });
  await alice(`${s}/datasets`, { name: "harbour-contracts", sensitivity: "confidential" });
  await alice(`${s}/authorize`, { tool: "gmail_guest_draft", arguments: { subject: "the contract" } });
  await alice(`${s}/authorize`, { tool: "slack_post", arguments: { text: "the contract is ready" } });
  await alice(`${s}/authorize`, { tool: "web_search", arguments: { query: "harbour" } });
  return session;
}

const shoot = async (page, name) => { if (shots) await page.screenshot({ path: `${shots}/${name}.png` }); };

async function everyPage(dark, width) {
  const visit = await browse(url, { dark, width, height: width < 500 ? 780 : 860 });
  const look = `${dark ? "dark" : "light"} at ${width}`;
  const tone = dark ? "-dark" : "";
  await visit.go("/console/sign-in");
  await checkPage(visit.page, `sign-in, ${look}`);
  if (width > 500) await shoot(visit.page, `console-sign-in${tone}`);
  await signIn(visit, tokens.admin);
  const pages = {
    overview: "/console", sessions: "/console/sessions", "sessions-by-id": "/console/sessions?order=id",
    session: "/console/sessions/harbour-1", tools: "/console/tools",
    plan: "/console/plan?calls=search_email%0Aweb_search%0Agithub_create_pr", record: "/console/record",
  };
  for (const [name, path] of Object.entries(pages)) {
    await visit.go(path);
    await checkPage(visit.page, `${name}, ${look}`);
    if (width > 500 && !["sessions-by-id", "record"].includes(name)) await shoot(visit.page, `console-${name}${tone}`);
    if (width < 500 && !dark && name === "session") await shoot(visit.page, "console-session-narrow");
  }
  check(visit.seen.elsewhere.length === 0, `asked elsewhere: ${visit.seen.elsewhere}`);
  check(visit.seen.broken.length === 0, `${look}: ${visit.seen.broken.join("\n")}`);
  await visit.context.close();
}

async function signingIn() {
  const visit = await browse(url);
  await visit.go("/console/sessions");
  check(visit.page.url().endsWith("/console/sign-in"), "a stranger is sent to the door");
  for (const [token, said] of [["tg_wrong", "unknown or revoked"], [tokens.agent, "for a program"]]) {
    await visit.page.fill("#token", token);
    await visit.page.click("button[type=submit]");
    await visit.page.waitForSelector(".mistake");
    check((await visit.page.textContent(".mistake")).includes(said), said);
  }
  await signIn(visit, tokens.operator);
  const shown = await visit.page.textContent(".who");
  check(shown.includes("olga") && shown.includes("human-operator"), shown);
  check((await visit.page.locator("nav >> text=Record").count()) === 0, "an operator is not offered the record");
  const kept = await visit.page.evaluate(() => document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage));
  check(kept === "{}{}", `scripts can read ${kept}`);
  const answer = await visit.go("/console/record");
  check(answer.status() === 403, "and may not have it");
  await visit.go("/console");
  await visit.page.click("text=Sign out");
  await visit.page.waitForSelector("#token");
  await visit.go("/console");
  check(visit.page.url().endsWith("/console/sign-in"), "signed out");
  await visit.context.close();
}

async function aPageFollowsAlong() {
  const visit = await browse(url);
  await signIn(visit, tokens.operator);
  await alice("/v1/sessions", { session_id: "live-1" });
  await visit.go("/console/sessions/live-1");
  await visit.page.evaluate(() => { window.same = true; });
  await alice("/v1/session/live-1/responses", { tool: "search_email", content: "the tide is high" });
  await alice("/v1/session/live-1/authorize", { tool: "web_search", arguments: { query: "tide" } });
  await until("the blocked call shows", async () => (await visit.page.locator("svg.flow g.stopped").count()) === 1);
  const drawn = await visit.page.textContent("svg.flow g.stopped .second");
  check(/blocked \d\d:\d\d:\d\d · label above ceiling/.test(drawn), drawn);
  check((await visit.page.textContent("svg.flow .level.here")) === "internal", "the water stands at internal");
  check((await visit.page.locator(".timeline .bad").count()) >= 1, "and the timeline tells it");
  check(await visit.page.evaluate(() => window.same), "without loading the page again");
  await visit.context.close();
}

async function theRecordVerifies() {
  const visit = await browse(url);
  await signIn(visit, tokens.auditor);
  await visit.go("/console/record?event=decision&tool=web_search&class=internal");
  check((await visit.page.locator("tbody tr").count()) >= 1, "filters find");
  check((await visit.page.textContent("tbody")).includes("Call blocked"), "the blocked call");
  await visit.page.click("text=Verify now");
  await visit.page.waitForSelector(".verdict .tone-good");
  check((await visit.page.textContent(".verdict")).includes("verified"), "the record verifies");
  await visit.go("/console/record?session=harbour-1");
  await shoot(visit.page, "console-record");
  await until("a record is proved", async () => {
    await visit.go("/console/record?session=harbour-1&event=session_opened");
    await visit.page.click("text=proof");
    await visit.page.waitForSelector("h1");
    return (await visit.page.locator(".title .tone-good").count()) === 1;
  });
  await shoot(visit.page, "console-proof");
  await visit.context.close();
}

/** Names that are markup stay text on every page that shows them. */
async function hostileNames() {
  const visit = await browse(url);
  await signIn(visit, tokens.admin);
  for (const path of ["/console/tools", "/console/plan", `/console/plan?calls=${encodeURIComponent(hostile)}`, "/console/sessions/hostile"]) {
    await visit.go(path);
    const text = await visit.page.content();
    check((await visit.page.textContent("main")).includes(hostile.slice(0, 20)), `${path} shows the name`);
    check(!text.includes("<img src=x"), `${path}: ${hostile} became markup`);
  }
  check((await visit.page.evaluate(() => window.broken)) === undefined, "no script ran");
  check(visit.seen.broken.length === 0, visit.seen.broken.join("\n"));
  await visit.context.close();
}

try {
  await story("harbour-1");
  await alice("/v1/sessions", { session_id: "hostile" });
  await alice("/v1/session/hostile/responses", { tool: hostile, content: "<script>window.broken = 1</script>" });
  for (const step of [signingIn, aPageFollowsAlong, theRecordVerifies, hostileNames]) await step();
  for (const [dark, width] of [[false, 1280], [true, 1280], [false, 360], [true, 360]]) await everyPage(dark, width);
  console.log("ok");
} finally {
  clear();
}
