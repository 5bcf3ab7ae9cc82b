import { describe, expect, test } from "@jest/globals";
import type { InjectedFault, LoadedEndpoint, ReceivedRequest, StoredAttempt } from "./history.ts";
import { longestPauseAfter, reconcile } from "./reconcile.ts";
import { delivery, fault, found, goodRun, refusals, request, T0 } from "./test-history.ts";

test("a run in which everything came once passes, whatever was not confirmed, not meant or not supported", () => {
  expect(found(goodRun())).toEqual({});
});

describe("lost", () => {
  test("a confirmed event without a delivery is lost", () => {
    expect(found({ ...goodRun(), deliveries: [], requests: [] })).toEqual({
      lost: ["event event-1 for flaky endpoint: never became a delivery"],
    });
  });

  test("a delivery that counts as delivered, and that no receiver accepted, is lost", () => {
    for (const requests of [[], refusals(1), [request({ outcome: "unanswered" })]]) {
      expect(found({ ...goodRun(), requests })).toHaveProperty("lost");
    }
  });

  test("an acceptance after the attempt's time counts only if a dispatcher stood still when that time was over, or the machine for as long", () => {
    const late = request({ outcome: "unanswered", acceptedLate: true, endedAt: T0 + 2_500 });
    const frozen = { kind: "freeze", target: "dispatcher-2", from: T0 + 1_200, until: T0 + 28_000 };
    const of = (override: Partial<ReceivedRequest>, ...faults: InjectedFault[]) =>
      found({ ...goodRun(), requests: [{ ...late, ...override }], faults });
    expect(of({}, fault(frozen))).toEqual({});
    expect(of({ acceptedLate: false }, fault(frozen))).toHaveProperty("lost");
    expect(found({ ...goodRun(), requests: [late], stoodStillMs: 500 })).toEqual({});
    expect(found({ ...goodRun(), requests: [late], stoodStillMs: 499 })).toHaveProperty("lost");
    const others = [{ from: T0 + 2_400 }, { until: T0 + 1_700 }, { target: "publisher-1" }, { kind: "kill" }];
    for (const other of [...others, { skipped: "there was none" }]) {
      expect(of({}, fault({ ...frozen, ...other }))).toHaveProperty("lost");
    }
  });

  test("a manual delivery that the API answered for and that is not stored is lost", () => {
    const manual = [{ deliveryId: "manual-1", endpointId: "endpoint", bodyHash: "manual" }];
    expect(found({ ...goodRun(), manual })).toEqual({ lost: [expect.stringContaining("manual-1")] });
    const stored = delivery({ id: "manual-1", eventId: null });
    const came = request({ deliveryId: "manual-1", bodyHash: "manual" });
    const run = goodRun();
    expect(
      found({ ...run, manual, deliveries: [...run.deliveries, stored], requests: [...run.requests, came] }),
    ).toEqual({});
  });
});

describe("given up through no fault of the receiver's", () => {
  const exhausted = (attemptCount: number) => delivery({ state: "exhausted", attemptCount });

  test("a delivery that the receiver refused until its attempts were used up was rightly given up", () => {
    const run = { ...goodRun(), deliveries: [exhausted(5)], requests: refusals(5) };
    expect(found(run)).toEqual({});
    expect(reconcile(run).figures).toMatchObject({ succeeded: 0, exhausted: 1, acceptedYetExhausted: 0 });
  });

  test.each([
    ["before its last attempt", 4, refusals(4), "given up after 4 attempts"],
    ["without any request to its receiver", 5, [], "refused none of its requests"],
  ])("a delivery that was given up %s was wrongly given up", (_when, attempts, requests, words) => {
    const run = { ...goodRun(), deliveries: [exhausted(attempts)], requests };
    expect(found(run)).toEqual({ wronglyExhausted: [expect.stringContaining(words)] });
  });

  test("a delivery one of whose attempts failed for a reason of Herald's was wrongly given up", () => {
    for (const failureKind of ["interrupted", "resolver_failed", "unreachable", "other"] as const) {
      const given = exhausted(5);
      given.attempts = given.attempts.map((each) => (each.number === 3 ? { ...each, failureKind } : each));
      const run = { ...goodRun(), deliveries: [given], requests: refusals(5) };
      expect(found(run)).toEqual({ wronglyExhausted: [expect.stringContaining(`http_status, ${failureKind}`)] });
    }
  });
});

test("more than five attempts are found by the count in the database", () => {
  expect(found({ ...goodRun(), deliveries: [delivery({ attemptCount: 6 })] })).toHaveProperty("tooManyAttempts", [
    expect.stringContaining("counted 6"),
    expect.stringContaining("6 attempts in its history"),
  ]);
});

describe("refused requests that are no attempt in the history", () => {
  const FIRST = T0 - 5_000;
  /** A delivery that was refused twice and then accepted. Its receiver refused another request before, which is no attempt. */
  const before = (override: Partial<ReceivedRequest>, ...faults: InjectedFault[]) => ({
    ...goodRun(),
    deliveries: [delivery({ attemptCount: 3 })],
    requests: [request({ at: FIRST, outcome: "refused", ...override }), ...refusals(2), request({ at: T0 + 2_000 })],
    faults,
  });
  const SHORT = { from: FIRST, until: FIRST + 1_000 };
  const LONG = { from: FIRST, until: FIRST + 4_500 };

  test.each([
    ["at once", {}],
    ["after a second", { endedAt: FIRST + 1_000 }],
    ["by no answer", { outcome: "unanswered" as const, endedAt: FIRST + 2_000 }],
  ])(
    "regression: a request that was refused %s is found, if it is missing from the history and was not counted",
    (_how, override) => {
      expect(found(before(override))).toEqual({ unrecorded: [expect.stringContaining("no attempt says so")] });
    },
  );

  test.each([
    ["a dispatcher that was killed", {}, fault(SHORT)],
    ["a dispatcher that crashed again and again", {}, fault({ ...LONG, kind: "crash-loop", from: FIRST - 1_000 })],
    ["a standstill of all dispatchers", {}, fault({ ...SHORT, kind: "frozen", target: "dispatchers" })],
    [
      "a dispatcher that did not reach PostgreSQL for long",
      {},
      fault({ ...LONG, kind: "stall", target: "dispatcher-2>postgres" }),
    ],
    [
      "an outage without an answer",
      { outcome: "unanswered" as const },
      fault({ ...SHORT, kind: "resolver-dead", target: "network" }),
    ],
  ])("%s explains it, and is counted", (_what, override, some) => {
    const run = before(override, some);
    expect(found(run)).toEqual({});
    expect(reconcile(run).figures.withoutAttempt).toEqual({ [some.kind]: 1 });
  });

  test.each([
    ["a dispatcher that was killed before it came", fault({ from: FIRST - 500, until: FIRST + 1_000 })],
    ["a killed publisher", fault({ ...SHORT, target: "publisher-1" })],
    [
      "a dispatcher that did not reach PostgreSQL for a moment",
      fault({ ...SHORT, kind: "stall", target: "dispatcher-2>postgres" }),
    ],
    ["a dispatcher that did not reach RabbitMQ", fault({ ...LONG, kind: "stall", target: "dispatcher-2>rabbitmq" })],
    ["an outage with an answer", fault({ ...SHORT, kind: "no-route", target: "network" })],
    ["a fault that never happened", fault({ ...SHORT, skipped: "there was none" })],
  ])("%s does not explain it", (_what, some) => {
    expect(found(before({}, some))).toEqual({ unrecorded: [expect.any(String)] });
  });

  test("a refused repeat of what had succeeded is no attempt any more, and only that is explained", () => {
    const stall = fault({ kind: "stall", target: "dispatcher-1>postgres", from: T0 + 3, until: T0 + 10_000 });
    const again = request({ at: T0 + 14_700, outcome: "refused" });
    const run = { ...goodRun(), requests: [request({}), again], faults: [stall] };
    expect(found(run)).toEqual({});
    expect(reconcile(run).figures.withoutAttempt).toEqual({ "had succeeded": 1 });
    expect(found({ ...run, faults: [] })).toEqual({ unexplainedDuplicates: [expect.stringContaining("came again")] });
    expect(
      found({ ...run, requests: [{ ...again, at: T0 - 4_000, endedAt: T0 - 3_990 }, request({})] }),
    ).toHaveProperty("unrecorded");
  });

  test("a dispatcher that says that it stood still explains it like an injected fault", () => {
    const standstills = [fault({ kind: "stood-still", from: FIRST - 1_500, until: FIRST + 100 })];
    expect(found({ ...before({ outcome: "unanswered" }), standstills })).toEqual({});
  });

  test.each([
    ["PostgreSQL", { kind: "postgres-crashed", target: "postgres" }, 1_900],
    ["a locked row", { kind: "row-lock", target: "delivery" }, 3_900],
  ])(
    "a result that waited for %s is lost with a dispatcher that is killed soon afterwards",
    (_what, waits, afterMs) => {
      const waited = fault({ ...SHORT, ...waits });
      const killed = fault({ from: FIRST + afterMs, until: FIRST + afterMs + 100 });
      expect(found(before({}, waited, killed))).toEqual({});
      expect(found(before({}, killed))).toHaveProperty("unrecorded");
      expect(found(before({}, waited))).toHaveProperty("unrecorded");
    },
  );

  test("a request that was sent again at once, after a reset of a connection that had served before, is the same attempt", () => {
    const reset = { at: T0 - 30, outcome: "unanswered", resetWhenReused: true } as const;
    const run = before(reset);
    const [attempt] = run.deliveries[0]?.attempts ?? [];
    Object.assign(attempt ?? {}, { startedAt: T0 - 30, durationMs: 50 });
    expect(found(run)).toEqual({});
    expect(found(before({ ...reset, at: T0 - 310 }))).toHaveProperty("unrecorded");
  });
});

test("regression: a receiver that accepted a request well in time is not to blame for its attempt", () => {
  const timedOut = delivery({ attemptCount: 2 });
  for (const attempt of timedOut.attempts.slice(0, 1))
    Object.assign(attempt, { failureKind: "timed_out", durationMs: 2_000 });
  const again = request({ at: T0 + 1_000 });
  const run = (endedAt: number) => ({
    ...goodRun(),
    deliveries: [timedOut],
    requests: [request({ endedAt }), again],
    faults: [fault({ kind: "frozen", target: "dispatchers" })],
  });
  expect(found(run(T0 + 300))).toEqual({
    blamed: ["delivery delivery-1 was accepted after 300 ms, and its attempt 1 is timed_out"],
  });
  expect(found(run(T0 + 1_900))).toEqual({});
  expect(found({ ...run(T0 + 1_600), stoodStillMs: 200 })).toEqual({});
});

test("an attempt that was counted and is not in the history is found", () => {
  const run = { ...goodRun(), deliveries: [delivery({ attemptCount: 2 })] };
  run.deliveries[0]?.attempts.shift();
  expect(found(run)).toEqual({ unremembered: [expect.stringContaining("counted 2 attempts")] });
});

describe("attempts to a disabled endpoint", () => {
  const disabling = { endpointId: "endpoint", by: "admin", from: T0 - 10_000, until: T0 + 10_000 } as const;

  test("a request to a disabled endpoint is found when nothing that was known before can be good any more", () => {
    expect(found({ ...goodRun(), disablings: [disabling] })).toEqual({
      afterDisabling: ["delivery delivery-1 came 10000 ms after endpoint was disabled"],
    });
  });

  test("a request that had begun just before the disabling, or came after the resume, or went to another endpoint, is allowed", () => {
    const run = { ...goodRun(), disablings: [{ ...disabling, from: T0 - 1_000 }] };
    expect(found(run)).toEqual({});
    expect(found({ ...goodRun(), disablings: [{ ...disabling, until: T0 - 1 }] })).toEqual({});
    expect(found({ ...goodRun(), disablings: [{ ...disabling, endpointId: "another" }] })).toEqual({});
  });
});

test("a request that its receiver refuses for its timestamp is found, and is no forgery", () => {
  const untimely = "the request was signed 400 s in the future, and 300 s are tolerated: check this machine's clock";
  const refused = request({ untimely, outcome: "refused" });
  const run = {
    ...goodRun(),
    requests: [refused, request({ at: T0 + 1_000 })],
    deliveries: [delivery({ attemptCount: 2 })],
  };
  expect(found(run)).toEqual({ untimely: [`delivery delivery-1: ${untimely}`] });
});

const { deliveries: stored, requests: came } = goodRun();
const second = { id: "delivery-2" };
test.each<[string, Partial<ReturnType<typeof goodRun>>, words: string]>([
  [
    "a request that the verifier refuses",
    { requests: [request({ forgery: "the signature fits no known secret" })] },
    "1: the signature fits no known secret",
  ],
  ["a body that is not the event's", { requests: [request({ bodyHash: "hash-2" })] }, "another body than its event"],
  ["a delivery that is not stored", { requests: [...came, request({ deliveryId: "made-up" })] }, "made-up is not in"],
  ["a delivery of another endpoint", { requests: [request({ endpointId: "another" })] }, "came to another endpoint"],
  [
    "a second delivery of one event to one endpoint",
    { deliveries: [...stored, delivery(second)], requests: [...came, request({ deliveryId: second.id })] },
    "delivery-1 is not the only one of its event",
  ],
  // The endpoint did not subscribe to them, or they were not emitted.
  ...["event-2", "event-3", "nobody's"].map((eventId): [string, object, string] => [
    `a stored delivery of ${eventId}`,
    { deliveries: [...stored, delivery({ id: "stray", eventId, state: "exhausted", attemptCount: 5 })] },
    "delivery stray is of no event for its endpoint",
  ]),
])("%s is forged", (_what, change, words) => {
  expect(found({ ...goodRun(), ...change })).toHaveProperty("forged", [expect.stringContaining(words)]);
});

test("deliveries without an end, and messages that no consumer takes, fail the run", () => {
  const run = goodRun();
  expect(found({ ...run, deliveries: [delivery({ state: "pending" })] })).toHaveProperty("unending");
  for (const wrong of [delivery({ isDue: true }), delivery({ state: "pending", isDue: false })]) {
    expect(found({ ...run, deliveries: [wrong] })).toHaveProperty("unending");
  }
  expect(found({ ...run, leftInQueues: { "herald.events.rejected": 2, "herald.events.inbox.a": 1 } })).toEqual({
    unending: ["1 messages lie in herald.events.inbox.a"],
    setAside: ["2 messages lie in herald.events.rejected"],
  });
});

describe("disabled endpoints", () => {
  const attempts = ["a/1", "a/2", "b/1", "b/2", "c/1"];
  const notice = { id: "notice-1", type: "endpoint.disabled", endpointId: "endpoint", attempts };
  const disabling = { endpointId: "endpoint", by: "herald", from: T0 + 1_000, until: T0 + 2_000 } as const;

  test("an endpoint may be disabled by as many failed attempts as it takes, with one notice to the product or two", () => {
    expect(found({ ...goodRun(), notices: [notice, notice], disablings: [disabling] })).toEqual({});
  });

  test("an endpoint that was disabled by fewer failures, one of them counted twice, fails the run", () => {
    const doubled = { ...notice, attempts: ["a/1", "a/2", "a/2", "b/1", "b/1"] };
    expect(found({ ...goodRun(), notices: [doubled], disablings: [disabling] })).toEqual({
      wronglyDisabled: ["flaky endpoint was disabled by 3 failed attempts that followed one another"],
    });
  });

  test("an endpoint that was disabled without a notice to the product fails the run", () => {
    const run = {
      ...goodRun(),
      notices: [notice],
      disablings: [disabling, { ...disabling, from: T0 + 3_000, until: T0 + 4_000 }],
    };
    expect(found(run)).toEqual({
      wronglyDisabled: [expect.stringContaining("2 times, and the product got 1 notices")],
    });
    expect(found({ ...run, disablings: [disabling, { ...disabling, by: "admin" }] })).toEqual({});
  });

  describe("whose failures disabled them", () => {
    /** A refused delivery's five attempts, each `everyMs` after the one before, with what the test says of them. */
    function disabledBy(character: string, changes: (index: number) => Partial<StoredAttempt>, everyMs = 1_000) {
      const run = goodRun();
      const refused = delivery({ id: "refused", eventId: null, state: "exhausted", attemptCount: 5 });
      const failures = refused.attempts.map((attempt, index) => ({
        ...attempt,
        ...{ startedAt: T0 + index * everyMs, durationMs: 900, ...changes(index) },
      }));
      const endpoint = { ...(run.endpoints[0] as LoadedEndpoint), character };
      const requests = failures.map(({ startedAt }) =>
        request({ deliveryId: "refused", at: startedAt, outcome: "refused", endedAt: startedAt + 900 }),
      );
      return {
        ...run,
        endpoints: [endpoint],
        requests: [...run.requests, ...requests],
        deliveries: [...run.deliveries, { ...refused, attempts: failures }],
        notices: [{ ...notice, attempts: [1, 2, 3, 4, 5].map((number) => `refused/${number}`) }],
        disablings: [disabling],
      };
    }
    const restart = fault({ kind: "receiver-restarts", target: "endpoint", from: T0, until: T0 + 10_000 });

    test("five failures of the receiver's own that followed one another rightly disable it", () => {
      expect(found(disabledBy("broken", () => ({})))).toEqual({});
    });

    test("five failures that overlapped are one", () => {
      expect(found(disabledBy("broken", () => ({}), 100))).toMatchObject({
        wronglyDisabled: ["broken endpoint was disabled by 1 failed attempts that followed one another"],
      });
    });

    test("one that is disabled only with a failed look-up was disabled for our fault", () => {
      const dead = fault({ kind: "resolver-dead", target: "network", from: T0, until: T0 + 1_500 });
      const run = disabledBy("broken", (index) => (index === 1 ? { failureKind: "resolver_failed" } : {}));
      expect(found({ ...run, faults: [dead] })).toEqual({
        disabledForOurFault: [expect.stringContaining("resolver_failed")],
      });
      expect(found(run)).toHaveProperty("disabledForOurFault");
    });

    test("one that takes everything was disabled for our fault, unless its receiver restarted", () => {
      const run = disabledBy("restarting", () => ({ failureKind: "connection_refused" }));
      expect(found(run)).toHaveProperty("disabledForOurFault");
      expect(found({ ...run, faults: [restart] })).toEqual({
        disabledByRestart: [expect.stringContaining("failures of a restart")],
      });
    });
  });
});

test("a service that ended by itself fails the run", () => {
  const run = {
    ...goodRun(),
    ownEnds: [{ service: "publisher-1", at: T0, lastLines: ["TypeError: x is not a function"] }],
  };
  expect(found(run)).toEqual({ crashed: [expect.stringContaining("TypeError")] });
});

test("the longest pause is sought from the event on, whatever the order, and ends with the next arrival", () => {
  expect(longestPauseAfter([900, 1_200, 50, 3_200, 3_300], 1_000, 3_000)).toBe(2_000);
  expect(longestPauseAfter([1_100, 1_200, 1_300, 9_000], 1_000, 1_250)).toBe(100);
});

test("a pause that never ends lasts until the end", () => {
  expect(longestPauseAfter([500], 1_000, 3_000)).toBe(2_000);
  expect(longestPauseAfter([1_500], 1_000, 3_000)).toBe(1_500);
});
