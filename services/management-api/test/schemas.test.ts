import { eventSchemaFiles } from "@herald/contracts/schemas";
import { expect, test } from "@jest/globals";
import { useApi } from "./support/use-api.ts";

const api = useApi({ settings: { BASE_PATH: "/herald" } });
const get = (path: string, init?: RequestInit) => fetch(`${api.origin}/herald/schemas/${path}`, init);

test.each(Object.entries(eventSchemaFiles()))("%s is served to anyone, as the package has it", async (path, text) => {
  const response = await get(path);
  expect([response.status, await response.text()]).toEqual([200, text]);
  expect(response.headers.get("content-type")).toMatch(/^application\/schema\+json/);
  expect(response.headers.get("cache-control")).toBe("public, max-age=3600");
});

test.each([
  "events/Unknown.json",
  "events/riskcreated.json",
  "events/RiskCreated",
  "events/",
  "others/RiskCreated.json",
  "events/..%2f..%2fpackage.json",
])("there is no schema at %s", async (path) => {
  const response = await get(path);
  expect([response.status, await response.json()]).toMatchObject([404, { code: "route_not_found" }]);
});
