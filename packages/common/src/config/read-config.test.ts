import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { ConfigError, readConfig } from "./read-config.ts";
import type { Settings } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-config-"));
afterAll(() => rmSync(folder, { recursive: true }));

const settings = {
  URL: { type: "string", required: true, secret: true, pattern: "^postgres:", description: "Where the data is." },
  PORT: { type: "integer", default: 80, minimum: 0, maximum: 65535, description: "Where to listen." },
  LEVEL: { type: "string", default: "info", enum: ["info", "warn"], description: "What to log." },
  VERBOSE: { type: "boolean", default: false, description: "Whether to say more." },
} as const satisfies Settings;

function problemsOf(environment: Record<string, string>, read: Settings = settings): readonly string[] {
  try {
    readConfig(read, environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

test("settings are read as their types, and absent ones get their defaults", () => {
  expect(readConfig(settings, { URL: "postgres://a", PORT: "8080", VERBOSE: "true", UNKNOWN: "1" })).toEqual({
    URL: "postgres://a",
    PORT: 8080,
    LEVEL: "info",
    VERBOSE: true,
  });
});

test("an empty variable counts as absent", () => {
  expect(readConfig(settings, { URL: "postgres://a", PORT: "" }).PORT).toBe(80);
});

test("an error lists every problem at once, each with the purpose of its setting", () => {
  const problems = problemsOf({ PORT: "eighty", LEVEL: "loud" });
  expect(problems).toHaveLength(3);
  expect(problems.join("\n")).toContain("URL is missing: Where the data is.");
  expect(problems.join("\n")).toContain('PORT must be integer, but is "eighty"');
  expect(problems.join("\n")).toContain("LEVEL must be one of info, warn");
});

test("an error never repeats a secret", () => {
  const problems = problemsOf({ URL: "mysql://root:hunter2@db" });
  expect(problems).toHaveLength(1);
  expect(problems[0]).not.toContain("hunter2");
});

test("a secret is read from the file that is named", () => {
  writeFileSync(join(folder, "url"), "postgres://from-file\n");
  expect(readConfig(settings, { URL_FILE: join(folder, "url") }).URL).toBe("postgres://from-file");
  expect(problemsOf({ URL_FILE: join(folder, "absent") })[0]).toContain("URL_FILE names a file that can't be read");
});

test("what is made together with a secret is read from a file too, and no other setting is", () => {
  const read = {
    PUBLIC_KEY: { type: "string", fromFile: true, description: "What to seal with." },
    NAME: { type: "string", description: "How it is called." },
  } as const satisfies Settings;
  const file = join(folder, "public-key");
  writeFileSync(file, "key\n");
  expect(readConfig(read, { PUBLIC_KEY_FILE: file, NAME_FILE: file })).toEqual({ PUBLIC_KEY: "key" });
});

test("what is not safe is refused unless the environment is development, beside all other problems", () => {
  const judged = {
    ...settings,
    PUBLIC_ORIGIN: { type: "string", description: "Where browsers see the page." },
  } as const satisfies Settings;
  const environment = { URL: "postgres://a", PORT: "eighty", PUBLIC_ORIGIN: "http://herald.example.com" };
  const problems = (more: Record<string, string> = {}) => problemsOf({ ...environment, ...more }, judged);
  expect(problems()).toEqual([
    expect.stringContaining("PORT must be integer"),
    expect.stringContaining("PUBLIC_ORIGIN is not safe"),
  ]);
  expect(problems({ HERALD_ENV: "production" })).toHaveLength(2);
  expect(problems({ HERALD_ENV: "development" })).toHaveLength(1);
  expect(problems({ HERALD_ENV: "staging" })).toContainEqual(
    expect.stringContaining("HERALD_ENV must be one of production, development"),
  );
});

test("a fault of several settings together is reported if each is right by itself", () => {
  const together = ({ PORT }: { PORT: number }) => (PORT === 81 ? ["PORT is taken"] : []);
  expect(() => readConfig(settings, { URL: "postgres://a", PORT: "81" }, together)).toThrow("PORT is taken");
  expect(() => readConfig(settings, { URL: "postgres://a", PORT: "82" }, together)).not.toThrow();
});
