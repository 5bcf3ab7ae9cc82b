import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { projectFolder } from "@herald/dev/stack/folders";
import { afterAll, expect, test } from "@jest/globals";
import { BUILD_TIMEOUT_MS, withoutPnpm } from "../../../src/child.ts";
import { findings, npmPackages } from "./tools.ts";

// Others' linters judge the OpenAPI document: docs/api/openapi.json, which is the served one by a test of its own.

const REDOCLY = "@redocly/cli@2.77.0";
const SPECTRAL = "@stoplight/spectral-cli@6.16.3";
const TIMEOUT_MS = STACK_TIMEOUT_MS + BUILD_TIMEOUT_MS;

const folder = mkdtempSync(join(tmpdir(), "herald-linters-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const document = JSON.parse(readFileSync(join(projectFolder(), "docs", "api", "openapi.json"), "utf8")) as object;
/** A linter that finds nothing here would find nothing anywhere. */
const broken = { ...document, info: {} };

/** Spectral's rules that are wrong here, each with the reason. */
const NOT_HEEDED = new Set([
  // It wants scopes to be of OAuth. Since OpenAPI 3.1 a requirement may name the permissions that any other scheme needs.
  "oas3-operation-security-defined",
]);

/** The faults in a document: the rule and the place. */
type Linter = (file: string) => Promise<string[]>;

const redocly: Linter = async (file) => {
  const program = join(await npmPackages(REDOCLY), "redocly");
  // It would report its use to its makers, and ask them for a newer version.
  const env = { ...withoutPnpm(), REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const { stdout, stderr } = await findings(program, ["lint", file, "--extends=recommended", "--format=json"], {
    cwd: folder,
    env,
  });
  const { problems } = parsed<{ problems: { ruleId: string; message: string; location: { pointer?: string }[] }[] }>(
    stdout,
    stderr,
  );
  return problems.map(({ ruleId, message, location: [at] }) => `${ruleId} at ${at?.pointer}: ${message}`);
};

const spectral: Linter = async (file) => {
  const program = join(await npmPackages(SPECTRAL), "spectral");
  const ruleset = join(folder, "spectral.yaml");
  writeFileSync(ruleset, "extends: spectral:oas\n");
  const args = ["lint", file, "--ruleset", ruleset, "--format", "json", "--quiet"];
  const { stdout, stderr } = await findings(program, args, { cwd: folder, env: withoutPnpm() });
  const problems = parsed<{ code: string; path: string[]; message: string }[]>(stdout, stderr);
  return problems
    .filter(({ code }) => !NOT_HEEDED.has(code))
    .map(({ code, path, message }) => `${code} at ${path.join("/")}: ${message}`);
};

function parsed<Output>(stdout: string, stderr: string): Output {
  try {
    return JSON.parse(stdout) as Output;
  } catch (cause) {
    throw new Error(`The linter printed no JSON:\n${stdout}${stderr}`, { cause });
  }
}

test.each([
  { name: "redocly", linter: redocly },
  { name: "spectral", linter: spectral },
])(
  "$name finds neither an error nor a warning in the OpenAPI document",
  async ({ linter }) => {
    const files = { served: join(folder, "served.json"), broken: join(folder, "broken.json") };
    writeFileSync(files.served, JSON.stringify(document));
    writeFileSync(files.broken, JSON.stringify(broken));
    expect(await linter(files.broken)).not.toEqual([]);
    expect(await linter(files.served)).toEqual([]);
  },
  TIMEOUT_MS,
);
