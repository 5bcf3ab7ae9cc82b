import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { SILENT } from "../../test/basics.ts";
import { startFailureLog } from "./failure-log.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function world() {
  const lines: unknown[] = [];
  const failures = startFailureLog({ ...SILENT, info: (line, fields) => void lines.push([line, fields]) });
  const fail = (host: string, times = 1, errorSummary = "receiver answered 500") => {
    for (let time = 0; time < times; time++) {
      failures.count(`https://user:key@${host}/secret?token=x`, { failureKind: "http_status", errorSummary });
    }
  };
  return { lines, failures, fail };
}

test("failed attempts of a minute are one line, with the hosts that failed most and their last errors", () => {
  const { lines, failures, fail } = world();
  fail("a.test", 3);
  fail("a.test:8443", 1);
  fail("a.test", 1, "receiver answered 503");
  failures.count("https://b.test/", { failureKind: "timed_out", errorSummary: "no response within 15 s" });
  for (let host = 0; host < 2_000; host++) fail(`h${host}.test`);
  fail("b.test");
  jest.advanceTimersByTime(60_000);
  const [line] = lines as [[string, { hosts: unknown[] }]];
  expect(lines).toHaveLength(1);
  expect(line).toMatchObject([
    "attempts failed within the last minute",
    { failed: 2_007, kinds: { http_status: 2_006, timed_out: 1 }, elsewhere: 1_998 },
  ]);
  expect(line[1].hosts).toHaveLength(5);
  expect(line[1].hosts.slice(0, 2)).toEqual([
    { host: "a.test", failed: 4, lastError: "receiver answered 503" },
    { host: "b.test", failed: 2, lastError: "receiver answered 500" },
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/secret|token|key/);
});

test("a minute without failures is no line, and a stop logs what is left", () => {
  const { lines, failures, fail } = world();
  jest.advanceTimersByTime(180_000);
  expect(lines).toEqual([]);
  fail("a.test");
  failures.stop();
  expect(lines).toHaveLength(1);
});
