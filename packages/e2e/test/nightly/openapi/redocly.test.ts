import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { projectFolder } from "@herald/dev/stack/folders";
import { runToEnd } from "@herald/dev/stack/programs";
import { afterAll, expect, test } from "@jest/globals";
import { BUILD_TIMEOUT_MS, withoutPnpm } from "../../../src/child.ts";
import { npmPackages } from "./tools.ts";

// A linter of others judges the OpenAPI document: docs/api/openapi.json, which is the served one by a test of its own.

const folder = mkdtempSync(join(tmpdir(), "herald-redocly-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The faults in a document: the rule and the place. */
async function faultsOf(document: object): Promise<string[]> {
  const program = join(await npmPackages("@redocly/cli@2.77.0"), "redocly");
  const file = join(folder, "openapi.json");
  writeFileSync(file, JSON.stringify(document));
  // It would report its use to its makers, and ask them for a newer version.
  const env = { ...withoutPnpm(), REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const args = ["lint", file, "--extends=recommended", "--format=json"];
  const { stdout, stderr } = await runToEnd(program, args, { cwd: folder, env });
  if (!stdout.startsWith("{")) throw new Error(`redocly printed no JSON:\n${stdout}${stderr}`);
  const { problems } = JSON.parse(stdout) as {
    problems: { ruleId: string; message: string; location: { pointer?: string }[] }[];
  };
  return problems.map(({ ruleId, message, location: [at] }) => `${ruleId} at ${at?.pointer}: ${message}`);
}

test(
  "redocly finds neither an error nor a warning in the OpenAPI document",
  async () => {
    const document = JSON.parse(readFileSync(join(projectFolder(), "docs", "api", "openapi.json"), "utf8")) as object;
    expect(await faultsOf({ ...document, info: {} })).not.toEqual([]);
    expect(await faultsOf(document)).toEqual([]);
  },
  STACK_TIMEOUT_MS + BUILD_TIMEOUT_MS,
);
