// A browser in front of a gateway, and what every test asks of it.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const profiles = [];

export function check(holds, what) {
  if (!holds) throw new Error(what);
}

/** Asks until the answer is yes; nothing here depends on how long that takes. */
export async function until(what, ask) {
  for (let tries = 0; tries < 300; tries += 1) {
    if (await ask()) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`never: ${what}`);
}

/** A browser with a profile of its own, and a page in it. Everything it is sent is kept. */
export async function browse(url, { dark = false, width = 1280, height = 860 } = {}) {
  const profile = mkdtempSync(join(tmpdir(), "tidegate-browser-"));
  profiles.push(profile);
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium",
    headless: true,
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ],
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const seen = { bodies: [], elsewhere: [], broken: [], pending: [] };
  context.on("request", (request) => {
    if (!request.url().startsWith(`${url}/`)) seen.elsewhere.push(request.url());
  });
  context.on("response", (response) => {
    const stream = (response.headers()["content-type"] ?? "").includes("event-stream");
    if (stream || response.status() === 303) return;
    seen.pending.push(response.text().then((text) => seen.bodies.push(text), () => {}));
  });
  page.on("pageerror", (error) => seen.broken.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error") seen.broken.push(message.text()); });
  return { context, page, seen, go: (path) => page.goto(`${url}${path}`) };
}

/** Signs in as people do. */
export async function signIn(visit, token) {
  await visit.go("/console");
  await visit.page.fill("#token", token);
  await visit.page.click("button[type=submit]");
  await visit.page.waitForSelector("nav[aria-label=Console]");
}

/** Nothing serious for whoever uses a screen reader or a keyboard, and nothing to scroll sideways for. */
export async function checkPage(page, name) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const grave = found.violations.filter((one) => ["serious", "critical"].includes(one.impact));
  const told = grave.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`);
  check(told.length === 0, `${name}: ${told.join("\n")}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  check(wide <= 0, `${name}: ${wide} px to scroll sideways at ${page.viewportSize().width}`);
}

/** What the agent does over the API. */
export function agent(url, token) {
  return async (path, body) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const answer = await fetch(`${url}${path}`, {
      method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  };
}

export function clear() {
  for (const profile of profiles) rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
