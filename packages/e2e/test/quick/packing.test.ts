import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventSchemaFiles } from "@herald/contracts/schemas";
import { projectFolder } from "@herald/dev/stack/folders";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { publint } from "publint";
import { BUILD_TIMEOUT_MS, output } from "../../src/child.ts";
import { entriesOf, LIBRARIES, PACKAGES, packPackages } from "../support/pack.ts";

// The published packages, as they are packed. Their users' projects are in ../nightly/publishing.

const folder = mkdtempSync(join(tmpdir(), "herald-packed-"));
const tarballs = new Map<string, string>();
const unpacked = (name: string): string => join(folder, name, "package");
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeAll(async () => {
  for (const tarball of await packPackages(join(folder, "packed"))) {
    const name = PACKAGES.find((each) => tarball.includes(`herald-${each}-`)) as string;
    tarballs.set(name, tarball);
    mkdirSync(join(folder, name));
    await output("tar", ["-xzf", tarball, "-C", join(folder, name)], folder);
  }
}, BUILD_TIMEOUT_MS);

describe.each(PACKAGES)("the published package of %s", (name) => {
  test("is packed whole, and needs no condition and no part of the workspace", () => {
    const text = readFileSync(join(unpacked(name), "package.json"), "utf8");
    const manifest = JSON.parse(text) as { dependencies?: Record<string, string>; private?: boolean; license?: string };
    expect(text).not.toMatch(/herald-source|workspace:|catalog:/);
    expect(manifest).toMatchObject({ publishConfig: { provenance: true }, license: expect.any(String) });
    expect(manifest.private).toBeUndefined();
    const dependencies = Object.keys(manifest.dependencies ?? {});
    const allowed = [
      "amqplib",
      "typebox",
      "@peculiar/x509",
      "reflect-metadata",
      ...PACKAGES.map((each) => `@herald/${each}`),
    ];
    expect(dependencies.filter((each) => !allowed.includes(each))).toEqual([]);
    const files = readdirSync(unpacked(name), { recursive: true, encoding: "utf8" });
    expect(files).toContain("README.md");
    if (name === "emitter") expect(files).toContain("sql/outbox.sql");
    const schemas = files
      .filter((file) => /^schemas\/.*\.json$/.test(file))
      .map((file) => file.slice("schemas/".length));
    expect(schemas.sort()).toEqual(name === "contracts" ? Object.keys(eventSchemaFiles()).sort() : []);
    expect(files.filter((file) => /\.test\.|^src|\.map$|tsbuildinfo/.test(file))).toEqual([]);
  });

  test("has nothing that publint finds", async () => {
    const { messages } = await publint({ pkgDir: unpacked(name), pack: false, strict: true });
    // A suggestion is to name the repository, which is unknown before the packages are published.
    expect(messages.filter(({ type }) => type !== "suggestion")).toEqual([]);
  });
});

test.each(LIBRARIES)("@arethetypeswrong finds nothing in the published package of %s", async (name) => {
  const attw = join(projectFolder(), "packages", "e2e", "node_modules", ".bin", "attw");
  const entries = entriesOf(unpacked(name));
  expect(entries).toContain(".");
  const options = ["--no-emoji", "--no-color", "--entrypoints", ...entries];
  await output(attw, [tarballs.get(name) as string, ...options], folder);
});

test("the receiver's package has no command, and the listener's is a command alone", () => {
  const commandsOf = (name: string) => JSON.parse(readFileSync(join(unpacked(name), "package.json"), "utf8")).bin;
  expect(commandsOf("receiver")).toBeUndefined();
  expect(commandsOf("listen")).toEqual({ "herald-listen": "./bin/herald-listen.js" });
  expect(entriesOf(unpacked("listen"))).toEqual([]);
});
