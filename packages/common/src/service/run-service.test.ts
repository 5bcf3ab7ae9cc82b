import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { nodeFault } from "./run-service.ts";

const engines = (service: string): string =>
  JSON.parse(readFileSync(new URL(`../../../../services/${service}/package.json`, import.meta.url), "utf8")).engines
    .node;

test.each([
  ["20.20.2", "This is Node 20.20.2: install 22.15 or later."],
  ["22.9.0", "This is Node 22.9.0: install 22.15 or later."],
  ["22.15.0", null],
  ["24.0.0", null],
  ["100.1.0", null],
])("a service that is started on Node %s says %j", (version, fault) => {
  expect(nodeFault(version)).toBe(fault);
});

test.each(["publisher", "dispatcher", "management-api"])("%s asks for the same Node as its start", (service) => {
  const least = engines(service).replace(">=", "");
  expect([nodeFault(`${least}.0`), nodeFault("22.14.9")]).toEqual([null, expect.stringContaining(least)]);
});
