import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readSecretKeys } from "@herald/common/security/sealing-keys";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { localSecrets } from "./local-files.ts";
import { forTheTerminal } from "./panel.ts";

let local: string;

beforeEach(() => {
  local = mkdtempSync(join(tmpdir(), "herald-local-"));
});

afterEach(() => rmSync(local, { recursive: true }));

test("the secrets of a checkout are made once, and only the owner can read them", () => {
  const made = localSecrets(local);
  expect(readSecretKeys(made.secretKeys)).toHaveLength(1);
  expect(statSync(join(local, "secrets.json")).mode & 0o777).toBe(0o600);
  expect(localSecrets(local)).toEqual(made);
});

test.each([
  JSON.stringify({ secretKeys: `local:${Buffer.alloc(32, "hunter2").toString("base64")}`, jwtSecret: "hunter2" }),
  JSON.stringify({ jwtSecret: "hunter2" }),
  "hunter2",
])("secrets that can't be used are reported with what to do, and not shown: %#", (text) => {
  writeFileSync(join(local, "secrets.json"), text);
  let said = "";
  try {
    localSecrets(local);
  } catch (error) {
    said = (error as Error).message;
  }
  expect(said).toContain(`Remove ${local} to begin again`);
  expect(said).toContain("replace the signing secret of each endpoint");
  expect(said).not.toContain("hunter2");
});

const line = (fields: object) =>
  JSON.stringify({ service: "dispatcher", timestamp: "2026-01-01T00:00:00Z", ...fields });

test("warnings are shown with their facts, short", () => {
  const text = forTheTerminal(
    "dispatcher",
    line({ level: "warn", message: "attempt failed", statusCode: 503, error: "a\nb" }),
  );
  expect(text).toBe("dispatcher warn: attempt failed statusCode=503 error=a");
});

test("what goes well is left to the log file", () => {
  expect(forTheTerminal("dispatcher", line({ level: "info", message: "started" }))).toBeUndefined();
  expect(forTheTerminal("dispatcher", "")).toBeUndefined();
});

test("what is no log line is shown as it is", () => {
  expect(forTheTerminal("publisher", "TypeError: x is not a function")).toBe(
    "publisher: TypeError: x is not a function",
  );
});
