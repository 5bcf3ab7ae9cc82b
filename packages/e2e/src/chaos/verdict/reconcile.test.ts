import { describe, expect, test } from "@jest/globals";
import type { LoadedEndpoint, StoredAttempt } from "./history.ts";
import { reconcile } from "./reconcile.ts";
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

  test("a delivery that was given up before its last attempt was wrongly given up", () => {
    const run = { ...goodRun(), deliveries: [exhausted(4)], requests: refusals(4) };
    expect(found(run)).toEqual({ wronglyExhausted: [expect.stringContaining("given up after 4 attempts")] });
  });

  test("a delivery that was given up without any request to its receiver was wrongly given up", () => {
    const run = { ...goodRun(), deliveries: [exhausted(5)], requests: [] };
    expect(found(run)).toEqual({ wronglyExhausted: [expect.stringContaining("refused none of its requests")] });
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

describe("more than five attempts", () => {
  test("more than five attempts are found by the count in the database", () => {
    const run = { ...goodRun(), deliveries: [delivery({ attemptCount: 6 })] };
    expect(found(run)).toHaveProperty("tooManyAttempts", [
      expect.stringContaining("counted 6"),
      expect.stringContaining("6 attempts in its history"),
    ]);
  });

  test("more than five attempts are found by the requests that the receiver got", () => {
    const run = {
      ...goodRun(),
      deliveries: [delivery({ attemptCount: 5 })],
      requests: [...refusals(5), request({ at: T0 + 6_000 })],
    };
    expect(found(run)).toEqual({ tooManyAttempts: [expect.stringContaining("came 6 times")] });
  });

  test("a request that was cut off with its dispatcher is no attempt, and any other that is not recorded is", () => {
    const deliveries = [delivery({ state: "exhausted", attemptCount: 5 })];
    const cutOff = request({ at: T0 + 1_500, outcome: "refused" });
    const requests = [...refusals(5), cutOff].sort((a, b) => a.at - b.at);
    const killed = fault({ from: T0 + 1_500, until: T0 + 1_900 });
    expect(found({ ...goodRun(), deliveries, requests, faults: [killed] })).toEqual({});
    expect(found({ ...goodRun(), deliveries, requests })).toHaveProperty("tooManyAttempts");
    const elsewhere = fault({ from: T0 + 2_500, until: T0 + 2_900 });
    expect(found({ ...goodRun(), deliveries, requests, faults: [elsewhere] })).toHaveProperty("tooManyAttempts");
  });

  test("a request that was sent again at once, after a reset of a connection that had served before, is no attempt", () => {
    const reset = request({ outcome: "unanswered", resetWhenReused: true });
    const again = request({ at: T0 + 30, outcome: "refused" });
    const rest = [2, 3, 4, 5].map((second) => request({ at: T0 + second * 1_000, outcome: "refused" }));
    const deliveries = [delivery({ state: "exhausted", attemptCount: 5 })];
    expect(found({ ...goodRun(), deliveries, requests: [reset, again, ...rest] })).toEqual({});
    const late = { ...again, at: T0 + 1_900 };
    expect(found({ ...goodRun(), deliveries, requests: [reset, late, ...rest] })).toHaveProperty("tooManyAttempts");
  });
});

test("an attempt that was counted and is not in the history is found", () => {
  const run = { ...goodRun(), deliveries: [delivery({ attemptCount: 2 })] };
  run.requests.unshift(request({ at: T0 - 1_000, outcome: "refused" }));
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
    expect(reconcile(run).figures).toMatchObject({ underWayWhenDisabled: 1, latestAfterDisablingMs: 1_000 });
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

describe("wrong signature or changed body", () => {
  test("a request that the verifier refuses is forged", () => {
    const run = { ...goodRun(), requests: [request({ forgery: "the signature fits no known secret" })] };
    expect(found(run)).toHaveProperty("forged", ["delivery delivery-1: the signature fits no known secret"]);
  });

  test("a body that is not the event's is forged", () => {
    expect(found({ ...goodRun(), requests: [request({ bodyHash: "hash-2" })] })).toHaveProperty("forged");
  });

  test("a delivery that is not stored, or that belongs to another endpoint, is forged", () => {
    const run = goodRun();
    expect(found({ ...run, requests: [...run.requests, request({ deliveryId: "made-up" })] })).toHaveProperty("forged");
    expect(found({ ...run, requests: [request({ endpointId: "another" })] })).toHaveProperty("forged");
  });

  test("a stored delivery of an event that the endpoint did not subscribe to, or that was not emitted, is forged", () => {
    const run = goodRun();
    for (const eventId of ["event-2", "event-3", "nobody's"]) {
      const stray = delivery({ id: "stray", eventId, state: "exhausted", attemptCount: 5 });
      expect(found({ ...run, deliveries: [...run.deliveries, stray] })).toHaveProperty("forged");
    }
  });
});

test("deliveries without an end, and messages that no consumer takes, fail the run", () => {
  const run = goodRun();
  expect(found({ ...run, deliveries: [delivery({ state: "pending" })] })).toHaveProperty("unending");
  for (const wrong of [delivery({ isDue: true }), delivery({ state: "pending", isDue: false })]) {
    expect(found({ ...run, deliveries: [wrong] })).toHaveProperty("unending");
  }
  expect(found({ ...run, leftInQueues: { "herald.events.rejected": 2 } })).toEqual({
    unending: ["2 messages lie in herald.events.rejected"],
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
