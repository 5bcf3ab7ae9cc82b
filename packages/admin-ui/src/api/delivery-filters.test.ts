import { expect, test } from "@jest/globals";
import { filtersToExport, filtersToQuery } from "./delivery-filters.ts";

const now = Date.parse("2026-11-20T12:00:42Z");
const filters = { outcomes: ["failing", "exhausted"], eventTypes: ["RiskCreated"], period: "1h" } as const;
const narrowed = "outcome=failing&outcome=exhausted&eventType=RiskCreated&from=2026-11-20T11%3A00%3A00.000Z";

test("an export is narrowed as the list is", () => {
  expect(filtersToQuery(filters, 50, "here", now).toString()).toBe(`limit=50&cursor=here&${narrowed}`);
  expect(filtersToExport(filters, { format: "csv", bodies: true }, now).toString()).toBe(
    `format=csv&bodies=true&${narrowed}`,
  );
});
