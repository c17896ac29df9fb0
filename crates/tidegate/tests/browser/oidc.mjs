// Signing in by a provider on another site, as people do; and somebody to whom nobody gave a role.
import { agent, browse, check, checkPage, clear } from "./stage.mjs";

const { url, tokens, shots, issuer } = JSON.parse(process.argv[2]);
const alice = agent(url, tokens.agent);

/** Goes to the provider and says a name there. */
async function signInBy(visit, login) {
  const { page } = visit;
  await visit.go("/console");
  await checkPage(page, "sign-in with a provider");
  if (shots && page.viewportSize().width > 500) await page.screenshot({ path: `${shots}/console-sign-in-provider.png` });
  await page.click("text=Sign in with Harbour accounts");
  await page.waitForSelector("#login");
  check(page.url().startsWith(`${issuer}/`), `at the provider: ${page.url()}`);
  await page.fill("#login", login);
  await page.click("button");
}

/** The gateway's cookies, of whatever path. */
async function ours(visit) {
  return (await visit.context.cookies()).filter((one) => one.name.startsWith("tidegate"));
}

async function aPersonComesInAndGoes() {
  const visit = await browse(url);
  const { page } = visit;
  await signInBy(visit, "olga");
  await page.waitForSelector("nav[aria-label=Console]");
  check(page.url() === `${url}/console`, `the page goes on by itself: ${page.url()}`);
  const shown = await page.textContent(".who");
  check(shown.includes("oidc:olga") && shown.includes("human-operator"), shown);
  const mine = await ours(visit);
  const held = mine.find((one) => one.name === "tidegate-console");
  check(held?.httpOnly && held.sameSite === "Strict", JSON.stringify(mine));
  check(!mine.some((one) => one.name.includes("way")), "the way to the provider is over");

  await alice("/v1/sessions", { session_id: "guests-1" });
  const call = { tool: "gmail_guest_draft", arguments: { subject: "Your stay in May" } };
  const asked = await alice("/v1/session/guests-1/authorize", call);
  check(asked.body.decision === "hold", JSON.stringify(asked));
  await page.click("nav >> text=Queue");
  await page.waitForSelector(".queue li");
  await page.click(".queue a");
  await page.fill("#approve-reason", "The guest asked for it");
  await page.keyboard.press("Enter");
  await page.waitForSelector("text=What was decided");
  check((await page.textContent("main")).includes("oidc:olga"), "decided by olga, whom the provider vouches for");
  const again = await alice("/v1/session/guests-1/authorize", call);
  check(again.body.decision === "allow", JSON.stringify(again));

  await page.click("text=Sign out");
  await page.waitForSelector("#token");
  await visit.go("/console/queue");
  check(page.url() === `${url}/console/sign-in`, "signed out");
  check(visit.seen.broken.length === 0, visit.seen.broken.join("\n"));
  await visit.context.close();
}

async function somebodyWithoutARoleStaysOutside() {
  const visit = await browse(url, { width: 360, height: 780 });
  const { page } = visit;
  await signInBy(visit, "nils");
  await page.waitForSelector("text=No role here");
  check((await page.textContent("main")).includes("nobody has given you a role"), "the page says why");
  await checkPage(page, "no role");
  check((await page.locator("nav[aria-label=Console]").count()) === 0, "nothing of the console is there");
  check(!(await ours(visit)).some((one) => one.name === "tidegate-console"), "there is no visit");
  await visit.go("/console");
  check(page.url() === `${url}/console/sign-in`, "and no way in");
  await visit.context.close();
}

try {
  for (const step of [aPersonComesInAndGoes, somebodyWithoutARoleStaysOutside]) await step();
  console.log("ok");
} finally {
  clear();
}
