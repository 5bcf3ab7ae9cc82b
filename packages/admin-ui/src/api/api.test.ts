import { expect, test } from "@jest/globals";
import { addressesFrom } from "./client.ts";
import { answered } from "./connection.ts";
import { filtersFromSearch, filtersInWords, parametersOf, queryOf, resendFilter } from "./filters.ts";

test.each(["", "/apps/herald"])("the page finds itself and the API below the BASE_PATH %j", (base) => {
  expect(addressesFrom(`https://herald.example${base}/administration/integrations/`)).toEqual({
    router: `${base}/administration/integrations`,
    api: `${base}/api/organization/integration-operations`,
    schemas: `${base}/schemas/requests`,
  });
});

const now = Date.parse("2026-11-20T12:00:42Z");
const webhook = "0193a1b2-0000-7000-8000-000000000001";
const read = (address: string) => filtersFromSearch(new URLSearchParams(address), "deliveries");

test("a period counts back from now", () => {
  expect(parametersOf(read("outcome=failing&outcome=exhausted&event=RiskCreated&period=1h"), now)).toEqual({
    outcome: ["failing", "exhausted"],
    eventType: ["RiskCreated"],
    from: "2026-11-20T11:00:00.000Z",
  });
});

test("a period and a last day are right whatever the browser's clock and the year are", () => {
  answered(new Date(Date.now() - 7_200_000).toUTCString());
  const { from = "" } = parametersOf(read("period=1h"));
  expect(Math.abs(Date.now() - 3 * 3_600_000 - Date.parse(from))).toBeLessThan(120_000);
  expect(parametersOf(read("to=9999-12-31"))).toEqual({ to: "9999-12-31T00:00:00.000Z" });
});

test("filters live in the address, and come back from it", () => {
  const address = `webhook=${webhook}&event=RiskCreated&from=2026-11-18&to=2026-11-20&status=503&id=b70c1219`;
  expect(queryOf(read(address)).toString()).toBe(address);
});

test("useless values of an address are left out, and days go before a period", () => {
  expect(read("outcome=odd&status=20&webhook=1&id=b70c121&from=yesterday&period=1y")).toEqual({});
  expect(read("period=1h&to=2026-11-20")).toEqual({ to: ["2026-11-20"] });
});

test("a list has only its own filters, and names them", () => {
  expect(filtersFromSearch(new URLSearchParams("outcome=failing&status=503&id=b70c1219"), "never-got")).toEqual({
    status: ["503"],
  });
  expect(filtersInWords("never-got")).toBe("event, period or status");
});

test("days are whole days of the browser's zone, the last one included", () => {
  const days = read("status=503&from=2026-11-18&to=2026-11-20");
  const from = new Date(2026, 10, 18).toISOString();
  const to = new Date(2026, 10, 21).toISOString();
  expect(parametersOf(days)).toEqual({ statusCode: ["503"], from, to });
  expect(resendFilter(days)).toEqual({ statusCode: [503], from, to });
});
