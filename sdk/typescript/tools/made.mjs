// What is made from other files: the types from the gateway's own description, and dist/ from src/.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const tool = (name) => join("node_modules", ".bin", name);

/** Writes the types of the API from the description that a gateway gives. */
export async function writeTypes(url, place, into) {
  const description = join(place, "openapi.json");
  writeFileSync(description, await (await fetch(`${url}/openapi.json`)).text());
  const options = ["--empty-objects-unknown", "--root-types", "--root-types-no-schema-prefix"];
  execFileSync(tool("openapi-typescript"), [description, ...options, "-o", into], { stdio: "pipe" });
}

/** Compiles the package. */
export function build(into) {
  execFileSync(tool("tsc"), ["--outDir", into], { stdio: "inherit" });
}
