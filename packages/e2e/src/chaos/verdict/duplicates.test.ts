import { expect, test } from "@jest/globals";
import { reconcile } from "./reconcile.ts";
import { delivery, fault, found, goodRun, refusals, request, T0 } from "./test-history.ts";

const twice = () => ({
  ...goodRun(),
  requests: [request({}), request({ at: T0 + 9_000 })],
});

test("a duplicate that nothing explains fails the run", () => {
  expect(found(twice())).toEqual({
    unexplainedDuplicates: ["delivery delivery-1 came again 9000 ms after it was accepted"],
  });
});

test("a killed dispatcher, a crashed, failed-over or restored database or a broken connection between them explains a duplicate", () => {
  for (const some of [
    fault({}),
    fault({ kind: "crash-loop" }),
    fault({ kind: "postgres-crashed", target: "postgres" }),
    fault({ kind: "postgres-failed-over", target: "postgres" }),
    fault({ kind: "database-restored", target: "postgres" }),
    fault({ kind: "stall", target: "dispatcher-2>postgres" }),
  ]) {
    const run = { ...twice(), faults: [some] };
    expect(found(run)).toEqual({});
    expect(reconcile(run).figures.duplicates).toEqual({ [some.kind]: 1 });
  }
});

test("an outage of Herald's own network explains a duplicate of what came in it or soon after it", () => {
  const outage = { kind: "no-route", target: "network" };
  const soon = { ...twice(), faults: [fault({ ...outage, from: T0 - 9_000, until: T0 - 2_000 })] };
  expect(reconcile(soon).figures.duplicates).toEqual({ "no-route": 1 });
  for (const [from, until] of [[T0 - 20_000, T0 - 6_000] as const, [T0 + 1_000, T0 + 5_000] as const]) {
    const apart = { ...twice(), faults: [fault({ ...outage, from, until })] };
    expect(found(apart)).toHaveProperty("unexplainedDuplicates");
  }
});

test("a fault explains nothing that it did not touch: another service, another time, or because it never happened", () => {
  for (const some of [
    fault({ target: "publisher-1" }),
    fault({ kind: "terminate" }),
    fault({ kind: "row-lock", target: "delivery" }),
    fault({ kind: "table-lock", target: "delivery" }),
    fault({ kind: "long-transaction", target: "postgres" }),
    fault({ kind: "cut", target: "dispatcher-1>rabbitmq" }),
    fault({ kind: "rabbitmq-killed", target: "rabbitmq" }),
    fault({ from: T0 + 9_500, until: T0 + 9_900 }),
    fault({ from: T0 - 5_000, until: T0 - 1_000 }),
    fault({ skipped: "there was none" }),
  ]) {
    expect(found({ ...twice(), faults: [some] })).toHaveProperty("unexplainedDuplicates");
  }
});

test("two attempts at the same time are a duplicate too, though neither was accepted yet", () => {
  const hanging = request({ outcome: "unanswered", endedAt: T0 + 2_000 });
  const meanwhile = request({ at: T0 + 500 });
  expect(found({ ...goodRun(), requests: [hanging, meanwhile] })).toHaveProperty("unexplainedDuplicates");
});

test.each([
  ["an acceptance that came when the sender had given up", 1_990, {}, 0],
  ["an answer that the sender read too late, because the machine stood still,", 1_550, { stoodStillMs: 300 }, 1_550],
])("%s explains the next attempt", (_what, afterMs, stoodStill, elseAfterMs) => {
  const timedOut = delivery({ attemptCount: 2 });
  for (const attempt of timedOut.attempts.slice(0, 1)) attempt.failureKind = "timed_out";
  const answeredAfter = (ms: number) => [request({ endedAt: T0 + ms }), request({ at: T0 + 4_000 })];
  const run = { ...goodRun(), deliveries: [timedOut], requests: answeredAfter(afterMs) };
  expect(reconcile({ ...run, ...stoodStill }).figures.duplicates).toEqual({ "late answer": 1 });
  expect(found({ ...run, requests: answeredAfter(elseAfterMs) })).toHaveProperty("unexplainedDuplicates");
});

test("a retry of what the receiver refused is no duplicate", () => {
  const run = {
    ...goodRun(),
    deliveries: [delivery({ attemptCount: 2 })],
    requests: [...refusals(1), request({ at: T0 + 2_000 })],
  };
  expect(found(run)).toEqual({});
});
