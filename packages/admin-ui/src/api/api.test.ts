import { expect, test } from "@jest/globals";
import { addressesFrom } from "./client.ts";
import { filtersFromSearch, filtersToEvents, filtersToQuery, filtersToSearch } from "./delivery-filters.ts";

test("the page finds itself and the API at the root", () => {
  expect(addressesFrom("https://herald.example/administration/integrations/")).toEqual({
    router: "/administration/integrations",
    api: "/api/organization/integration-operations",
  });
});

test("the page finds itself and the API below a BASE_PATH", () => {
  expect(addressesFrom("https://example.com/apps/herald/administration/integrations/")).toEqual({
    router: "/apps/herald/administration/integrations",
    api: "/apps/herald/api/organization/integration-operations",
  });
});

const now = Date.parse("2026-11-20T12:00:42Z");
const filters = filtersFromSearch(new URLSearchParams("outcome=failing&outcome=exhausted&event=RiskCreated&period=1h"));
const narrowed = "outcome=failing&outcome=exhausted&eventType=RiskCreated&from=2026-11-20T11%3A00%3A00.000Z";

test("the list of deliveries is narrowed by the filters", () => {
  expect(filtersToQuery(filters, { limit: 50, cursor: "here" }, now).toString()).toBe(
    `limit=50&cursor=here&${narrowed}`,
  );
});

const webhook = "0193a1b2-0000-7000-8000-000000000001";

test("filters live in the address, and come back from it", () => {
  const address = `event=RiskCreated&status=503&webhook=${webhook}&id=b70c1219&from=2026-11-18&to=2026-11-20`;
  expect(filtersToSearch(filtersFromSearch(new URLSearchParams(address))).toString()).toBe(address);
});

test("what an address has of no use is left out, and days go before a period", () => {
  const address = "outcome=odd&status=20&webhook=1&id=b70c121&from=yesterday&period=1y";
  expect(filtersToSearch(filtersFromSearch(new URLSearchParams(address))).size).toBe(0);
  const both = filtersFromSearch(new URLSearchParams("period=1h&to=2026-11-20"));
  expect(filtersToSearch(both).toString()).toBe("to=2026-11-20");
});

test("days are whole days of the browser's zone, the last one included", () => {
  const days = filtersFromSearch(
    new URLSearchParams(`status=503&webhook=${webhook}&id=b70c1219&from=2026-11-18&to=2026-11-20`),
  );
  const from = new Date(2026, 10, 18).toISOString();
  const to = new Date(2026, 10, 21).toISOString();
  expect(Object.fromEntries(filtersToQuery(days, { limit: 50, cursor: null }, now))).toEqual({
    ...{ limit: "50", statusCode: "503", endpointId: webhook, idPrefix: "b70c1219", from, to },
  });
  expect(Object.fromEntries(filtersToEvents(days, "here", now))).toEqual({
    ...{ limit: "20", idPrefix: "b70c1219", from, to, cursor: "here" },
  });
});
