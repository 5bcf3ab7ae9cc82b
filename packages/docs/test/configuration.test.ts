import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { projectFolder } from "@herald/testkit/stack/folders";
import { expect, test } from "@jest/globals";
import { configurationFiles } from "../src/configuration/index.ts";
import { knownSettings } from "../src/configuration/known-settings.ts";

const files = Object.entries(configurationFiles(projectFolder())).map(([file, text]) => ({
  name: relative(projectFolder(), file),
  file,
  text,
}));

test.each(files)("$name is what the services' schemas say: pnpm reference writes it", ({ file, text }) => {
  expect(existsSync(file) ? readFileSync(file, "utf8") : "no file").toBe(text);
});

test("a setting that means two things is found", () => {
  const text = { type: "string", description: "d" } as const;
  expect(knownSettings({ a: { X: text }, b: { X: { ...text, description: "other words" } } })).toEqual([
    { name: "X", setting: text, services: ["a", "b"] },
  ]);
  expect(() => knownSettings({ a: { X: text }, b: { X: { ...text, default: "y" } } })).toThrow(
    "X is not the same for a and b",
  );
});
