import { eventSchemaFiles } from "@herald/contracts/schemas";
import { expect, test } from "@jest/globals";
import { agent } from "supertest";
import { useApi } from "./support/use-api.ts";

const api = useApi({ settings: { BASE_PATH: "/herald" } });
const get = (path: string, init?: RequestInit) => fetch(`${api.origin}/herald/schemas/${path}`, init);

test.each(Object.entries(eventSchemaFiles()))("%s is served to anyone, as the package has it", async (path, text) => {
  const response = await get(path);
  expect([response.status, await response.text()]).toEqual([200, text]);
  expect(response.headers.get("content-type")).toMatch(/^application\/schema\+json/);
});

test("a cache may keep a schema, and is told when it has the latest one", async () => {
  const first = await get("events/RiskCreated.json");
  const etag = first.headers.get("etag") as string;
  expect(first.headers.get("cache-control")).toBe("public, max-age=3600");
  // fetch would ask for no answer of a cache.
  const ask = (path: string) => agent(api.origin).get(`/herald/schemas/${path}`).set("If-None-Match", etag);
  const again = await ask("events/RiskCreated.json");
  expect([again.status, again.text, again.headers.etag]).toEqual([304, "", etag]);
  const other = await ask("requests/RiskCreated.json");
  expect([other.status, other.headers.etag === etag]).toEqual([200, false]);
  const head = await get("events/RiskCreated.json", { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
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
