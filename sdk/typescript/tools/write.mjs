// Writes src/generated and dist anew.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, writeTypes } from "./made.mjs";
import { startGateway } from "./stand.mjs";

const place = mkdtempSync(join(tmpdir(), "tidegate-"));
const gateway = await startGateway();
await writeTypes(gateway.url, place, "src/generated/api.ts");
await gateway.stop();
rmSync(place, { recursive: true });
rmSync("dist", { recursive: true, force: true });
build("dist");
