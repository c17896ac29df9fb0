// A gateway for the tests, with the control list of the examples.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const binary = process.env.TIDEGATE_BIN;

/** Starts a gateway; `stop` ends it and removes what it wrote. */
export async function startGateway(config) {
  const place = mkdtempSync(join(tmpdir(), "tidegate-"));
  const dataDir = join(place, "state");
  mkdirSync(dataDir, { mode: 0o700 });
  const options = { cwd: place, env: { HOME: place, PATH: process.env.PATH } };
  const serve = ["serve", "--listen", "127.0.0.1:0", "--data-dir", dataDir, ...(config ? ["--config", config] : [])];
  const child = spawn(binary, serve, { ...options, stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const line = await new Promise((resolve) => createInterface(child.stdout).once("line", resolve));
  const token = (role) => {
    const whose = ["--role", role, "--principal", "desk", "--data-dir", dataDir];
    return execFileSync(binary, ["token", "create", ...whose], { ...options, stdio: "pipe" }).toString().trim();
  };
  return {
    url: line.replace("listening on ", ""),
    token: token("connector"),
    agentToken: token("agent"),
    async stop() {
      child.kill();
      await ended;
      rmSync(place, { recursive: true });
    },
  };
}
