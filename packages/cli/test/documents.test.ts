import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { expect, test } from "@jest/globals";
import { callHerald } from "./run-herald.ts";

// Readers also type commands that stand within a sentence. Blocks of commands have tests that run them.

interface Named {
  text: string;
  file: string;
}

const files = execFileSync("git", ["ls-files", "*.md"], { cwd: projectFolder(), encoding: "utf8" }).trim().split("\n");

/** Code within sentences, of all documents. */
const inline: Named[] = files.flatMap((file) => {
  const sentences = readFileSync(join(projectFolder(), file), "utf8").replace(/^ *```[\s\S]*?^ *```/gm, "");
  return [...sentences.matchAll(/`([^`\n]+)`/g)].map(([, text = ""]) => ({ text, file }));
});

function named(pattern: RegExp): Named[] {
  const found = new Map(inline.filter(({ text }) => pattern.test(text)).map((each) => [each.text, each]));
  expect(found.size).toBeGreaterThan(0);
  return [...found.values()];
}

test("each herald command that a sentence names exists, with its action and its options", async () => {
  const unknown: string[] = [];
  for (const { text, file } of named(/^herald [a-z]/)) {
    const [command = "", ...rest] = text.split(" ").slice(1);
    const { code, stdout } = await callHerald([command, "--help"]);
    const [action] = rest;
    const isAction = action !== undefined && /^[a-z-]+$/.test(action) && !action.startsWith("-");
    const isKnown =
      code === 0 &&
      (!isAction || stdout.includes(`herald ${command} ${action}`)) &&
      rest.filter((each) => each.startsWith("--") && each !== "--help").every((option) => stdout.includes(option));
    if (!isKnown) unknown.push(`${file}: ${text}`);
  }
  expect(unknown).toEqual([]);
});

test("each file of the project that a sentence names exists", () => {
  const isThere = (path: string) =>
    existsSync(join(projectFolder(), path)) ||
    execFileSync("git", ["ls-files", `:(glob)${path}`, `:(glob)${path}/**`], { cwd: projectFolder() }).length > 0;
  const missing = named(/^(docs|packages|services|deploy|examples|prisma|\.ci|\.github)\/[\w./*-]+$/)
    // The build and deploy/docker/make-secrets.mjs make these files.
    .filter(({ text }) => !/\/dist\/|^deploy\/secrets\//.test(text) && !isThere(text.replace(/\/$/, "")))
    .map(({ text, file }) => `${file}: ${text}`);
  expect(missing).toEqual([]);
});

/** Commands of pnpm itself. */
const OF_PNPM = new Set(["install", "pack", "run", "audit", "publish", "add", "sbom"]);

test("each script of pnpm that a sentence names exists", () => {
  const { scripts } = JSON.parse(readFileSync(join(projectFolder(), "package.json"), "utf8")) as { scripts: object };
  const unknown = named(/^pnpm [a-z]/).filter(({ text }) => {
    const [, first = "", second = ""] = text.split(" ");
    const script = first === "run" ? second : first;
    return !OF_PNPM.has(first) && !(script in scripts);
  });
  expect(unknown).toEqual([]);
});

/** Paths of the operations port, of the page, and folders of machines. */
const KNOWN_PATHS = new Set([
  "/healthz",
  "/readyz",
  "/metrics",
  "/administration/integrations",
  "/administration/sign-in",
  "/api/organization/integration-operations",
  "/openapi.json",
]);
const OF_MACHINES = /^\/(etc|opt|usr|var)(\/|$)/;

test("each path of a service that a sentence names is served", () => {
  const { paths } = JSON.parse(readFileSync(join(projectFolder(), "docs/api/openapi.json"), "utf8")) as {
    paths: Record<string, unknown>;
  };
  // Files for programs, which are no operations of the API.
  const served = [...Object.keys(paths), "/schemas/events/{name}", "/schemas/requests/{name}"];
  const unknown = named(/^\/[a-z]/)
    .filter(({ text }) => !OF_MACHINES.test(text) && !KNOWN_PATHS.has(text.replace(/[#?].*/, "")))
    .filter(({ text }) => !served.some((path) => matches(path, text)))
    .map(({ text, file }) => `${file}: ${text}`);
  expect(unknown).toEqual([]);
});

/** Whether a path is one of these, or the first part of one. */
function matches(template: string, path: string): boolean {
  const parts = template.split("/");
  return path.split("/").every((part, index) => part === parts[index] || parts[index]?.includes("{") === true);
}
