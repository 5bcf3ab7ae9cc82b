import { expect, test } from "@jest/globals";
import type { Component } from "./bill-of-materials.ts";
import { isAllowed, licenseReport } from "./licenses.ts";

test.each(["MIT", "(MIT OR GPL-3.0-only)", "GPL-3.0-only OR ISC", "MIT AND Apache-2.0", "(MIT AND ISC)"])(
  "%s is allowed",
  (expression) => expect(isAllowed(expression)).toBe(true),
);

test.each([
  "GPL-3.0-only",
  "MIT AND GPL-3.0-only",
  "none",
  "",
  "UNLICENSED",
  "mit",
  "MIT WITH x",
  "(MIT OR ISC) AND (X)",
])("%j isn't", (expression) => expect(isAllowed(expression)).toBe(false));

test("a report names what is refused, and needs no licence of Herald's own", () => {
  const component = (name: string, licenses: Component["licenses"] = []) => ({
    "bom-ref": name,
    name,
    version: "1.0.0",
    purl: `pkg:npm/${name}`,
    licenses,
  });
  const { packages, refused } = licenseReport([
    component("a", [{ license: { id: "MIT" } }]),
    component("b", [{ license: { id: "MIT" } }]),
    component("c", [{ license: { name: "SEE LICENSE" } }]),
    component("d"),
    component("e", [{ expression: "(MIT OR X)" }]),
    { ...component("common"), group: "@herald" },
  ]);
  expect(packages[0]).toEqual(["MIT", ["a", "b"]]);
  expect(refused.map(({ name, license }) => [name, license])).toEqual([
    ["c", "SEE LICENSE"],
    ["d", "none"],
  ]);
});
