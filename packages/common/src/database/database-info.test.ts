import { expect, test } from "@jest/globals";
import { versionFault } from "./database-info.ts";

test("a server that is too old is refused, with its version and the reason; the oldest supported one and newer ones pass", () => {
  const { what } = versionFault({ version: 140_020, versionText: "14.20" }) ?? {};
  expect(what).toMatch(/PostgreSQL 14\.20; Herald needs 15 or newer/);
  expect(versionFault({ version: 150_000, versionText: "15.0" })).toBeUndefined();
  expect(versionFault({ version: 190_001, versionText: "19.1" })).toBeUndefined();
});
