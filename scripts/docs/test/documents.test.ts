import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";
import { expect, test } from "@jest/globals";
import { knownSettings } from "../src/configuration.ts";
import { COMMAND, documents, withBlocks } from "../src/documents.ts";
import { heraldMetrics } from "../src/metrics.ts";

test.each(Object.entries(documents()))("%s is what the code makes", (file, text) => {
  const path = join(projectFolder(), file);
  const written = existsSync(path) ? readFileSync(path, "utf8") : "";
  // Not by `expect`: some of these documents have thousands of lines.
  if (written !== text) throw new Error(`${file} is out of date. Run ${COMMAND}.`);
});

test("a setting that means two things to two services is found", () => {
  const text = { type: "string", description: "d" } as const;
  expect(knownSettings({ a: { X: text }, b: { X: { ...text, description: "other words" } } })).toEqual([
    { name: "X", setting: text, services: ["a", "b"] },
  ]);
  expect(() => knownSettings({ a: { X: text }, b: { X: { ...text, default: "y" } } })).toThrow(
    "X is not the same for a and b",
  );
});

test("the names of metrics follow Prometheus's conventions", () => {
  for (const { name, type, help } of heraldMetrics()) {
    expect(help).toMatch(/\.$/);
    expect(name.endsWith("_total")).toBe(type === "counter");
    expect(name).not.toMatch(/_(milliseconds|ms|minutes|kilobytes)(_|$)/);
  }
});

test("a generated block is replaced, and a missing one is an error", () => {
  const text = "before\n<!-- generated: a -->\nold\n<!-- end of a -->\nafter\n";
  expect(withBlocks(text, { a: "new" })).toBe("before\n<!-- generated: a -->\nnew\n<!-- end of a -->\nafter\n");
  expect(() => withBlocks(text, { b: "new" })).toThrow("no block between");
});
