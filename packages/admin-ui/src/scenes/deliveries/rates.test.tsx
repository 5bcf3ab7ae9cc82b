import type { EndpointRates } from "@herald/contracts";
import { expect, test } from "@jest/globals";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderToStaticMarkup } from "react-dom/server";
import { formatsFor } from "../../common/formats.ts";
import { about, attemptsInWords, beginning, firstShown, gridOf, successRate, zonesOf } from "./words.ts";

// The modules of the page need only this of a browser while they are loaded.
Object.assign(globalThis, { window: { addEventListener: () => {} } });
const { ratesQuery } = await import("../../api/queries.ts");
const { Rates } = await import("./Rates.tsx");

const startMs = Date.parse("2026-11-20T14:00:00Z");

/** The text in the markup of a day's rates. */
function said(attempts: number): string {
  const figures = { succeeded: attempts - 1, p50Ms: 25, p95Ms: 1_340 };
  const rates: EndpointRates = {
    periods: [1, 7, 30].map((days) => ({ days, attempts, ...figures })),
    endUtc: "2026-11-20T15:00:00.000Z",
    hours: [{ succeeded: 2, failed: 1 }],
    days: [],
  };
  const client = new QueryClient();
  client.setQueryData(ratesQuery("a").queryKey, rates);
  return renderToStaticMarkup(
    <QueryClientProvider client={client}>
      <Rates id="a" />
    </QueryClientProvider>,
  ).replace(/<[^>]*>/g, " ");
}

test("a webhook's rates are said in words and numbers, and its hours as a table", () => {
  expect(said(3).replace(/\s+/g, " ").trim()).toBe(
    "Success rate and response time Period 1 day 7 days 30 days " +
      "Success rate 66.6 % Half took under 50 ms (p50) 95 % took under about 1.3 s (p95) " +
      "3 attempts in the last 24 hours: 2 succeeded, 1 failed by hour, GMT+0 2 1 0 1 2:00 PM " +
      "Show the chart as a table Hour from (GMT+0) Succeeded Failed 2:00 PM 2 1",
  );
});

test("regression: in the night in which summer time ends, no two hours have one name", () => {
  const berlin = formatsFor(["de"], "Europe/Berlin");
  const night = [0, 1, 2].map((hour) => ({ startMs: Date.parse("2026-10-24T23:00:00Z") + hour * 3_600_000 }));
  expect(zonesOf(night, berlin)).toEqual(["GMT+2", "GMT+1"]);
  expect(night.map((bar) => beginning(bar, "hour", true, berlin))).toEqual(["1:00 GMT+2", "2:00 GMT+2", "2:00 GMT+1"]);
  expect(zonesOf(night.slice(0, 2), berlin)).toHaveLength(1);
});

test("days without attempts are said to have none, and nothing else", () => {
  expect(said(0)).toContain("No attempts in the last 24 hours so far.");
  expect(said(0)).not.toMatch(/%|table/);
});

test("attempts have words, which leave out zeros", () => {
  expect(attemptsInWords({ succeeded: 1_300, failed: 3 }, "today")).toBe(
    "1,303 attempts today: 1,300 succeeded, 3 failed",
  );
  expect(attemptsInWords({ succeeded: 0, failed: 1 }, "today")).toBe("1 attempt today: 1 failed");
});

test.each([
  [10_000, 0, "100 %"],
  [99_999, 1, "99.9 %"],
  [0, 3, "0 %"],
])("of %d that succeeded and %d that failed, the rate is never rounded up", (succeeded, failed, expected) => {
  expect(successRate({ succeeded, failed })).toBe(expected);
});

test("an estimate says that it is one, and what is too short to tell is within the shortest class", () => {
  expect([about(3), about(50), about(84)]).toEqual(["50 ms", "50 ms", "about 84 ms"]);
});

test("a bar of the chart is named by when it begins", () => {
  expect(beginning({ startMs }, "hour").replace(/\s/g, " ")).toBe("2:00 PM");
  expect(beginning({ startMs }, "day").replace(/\s/g, " ")).toBe("11/20, 2:00 PM");
});

test("the chart leaves out the hours before the first attempt, and has at least eight", () => {
  const bars = (attempts: number[]) => attempts.map((succeeded) => ({ succeeded, failed: 0 }));
  const quiet = Array.from({ length: 23 }, () => 0);
  expect(firstShown(bars([...quiet, 3]))).toBe(16);
  expect(firstShown(bars([...quiet.slice(0, 5), 1, ...quiet.slice(0, 18)]))).toBe(5);
  expect(firstShown(bars([2, ...quiet]))).toBe(0);
});

test.each([
  [7, 5, [10, 5, 0, -5]],
  [2, 0, [2, 1, 0]],
  [0, 3, [0, -1, -2, -3]],
  [1_303, 1, [1_500, 1_000, 500, 0, -500]],
])(
  "with at most %d that succeeded and %d that failed, each line of the grid has its number",
  (succeeded, failed, lines) => {
    expect(gridOf([{ succeeded, failed }]).lines).toEqual(lines);
  },
);
