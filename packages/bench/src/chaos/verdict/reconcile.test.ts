import { describe, expect, test } from "@jest/globals";
import type { History, InjectedFault, ReceivedRequest, StoredDelivery } from "./history.ts";
import { type Findings, reconcile } from "./reconcile.ts";

const T0 = Date.parse("2026-03-01T12:00:00Z");

/** One event for one endpoint, delivered by its first attempt; each test changes what it is about. */
function goodRun(): History {
  return {
    events: [
      { id: "event-1", organizationId: "org", type: "RiskCreated", bodyHash: "hash-1", confirmed: true },
      { id: "event-2", organizationId: "other", type: "RiskCreated", bodyHash: "hash-2", confirmed: true },
      { id: "event-3", organizationId: "org", type: "Unknown", bodyHash: "hash-3", confirmed: true },
      { id: "event-4", organizationId: "org", type: "RiskCreated", bodyHash: "hash-4", confirmed: false },
    ],
    manual: [],
    endpoints: [{ id: "endpoint", organizationId: "org", character: "steady", types: ["RiskCreated"] }],
    requests: [request({})],
    deliveries: [delivery({})],
    disablings: [],
    notices: [],
    faults: [],
    ownEnds: [],
    stoodStillMs: 0,
    leftInQueues: { inbox: 0 },
    settings: { leaseMs: 8_000, attemptTimeoutMs: 2_000, maxAttempts: 5, disableAfter: 5 },
  };
}

function request(override: Partial<ReceivedRequest>): ReceivedRequest {
  return {
    endpointId: "endpoint",
    deliveryId: "delivery-1",
    at: T0,
    forgery: null,
    bodyHash: "hash-1",
    outcome: "accepted",
    endedAt: (override.at ?? T0) + 10,
    resetWhenReused: false,
    ...override,
  };
}

function delivery(override: Partial<StoredDelivery>): StoredDelivery {
  const { state = "succeeded", attemptCount = 1 } = override;
  return {
    id: "delivery-1",
    endpointId: "endpoint",
    eventId: "event-1",
    state,
    attemptCount,
    attempts: Array.from({ length: attemptCount }, (_, index) => ({
      number: index + 1,
      startedAt: T0 + index * 1_000,
      statusCode: state === "succeeded" && index === attemptCount - 1 ? 200 : 500,
      errorSummary: state === "succeeded" && index === attemptCount - 1 ? null : "receiver answered 500",
    })),
    ...override,
  };
}

function fault(override: Partial<InjectedFault>): InjectedFault {
  return { kind: "kill", target: "dispatcher-1", from: T0 + 5, until: T0 + 500, ...override };
}

function refusals(count: number): ReceivedRequest[] {
  return Array.from({ length: count }, (_, index) => request({ at: T0 + index * 1_000, outcome: "refused" }));
}

/** The findings that are not empty. */
function found(run: History): Partial<Findings> {
  const { passed, findings } = reconcile(run);
  const some = Object.fromEntries(Object.entries(findings).filter(([, list]) => list.length > 0));
  expect(passed).toBe(Object.keys(some).length === 0);
  return some;
}

test("a run in which everything came once passes, whatever was not confirmed, not meant or not supported", () => {
  expect(found(goodRun())).toEqual({});
});

describe("lost", () => {
  test("a confirmed event without a delivery", () => {
    expect(found({ ...goodRun(), deliveries: [], requests: [] })).toEqual({
      lost: ["event event-1 for steady endpoint: never became a delivery"],
    });
  });

  test("a delivery that counts as delivered, and that no receiver accepted", () => {
    for (const requests of [[], refusals(1), [request({ outcome: "unanswered" })]]) {
      expect(found({ ...goodRun(), requests })).toHaveProperty("lost");
    }
  });

  test("a delivery that was given up before its last attempt", () => {
    const run = {
      ...goodRun(),
      deliveries: [delivery({ state: "exhausted", attemptCount: 4 })],
      requests: refusals(4),
    };
    expect(found(run)).toEqual({ lost: [expect.stringContaining("given up after 4 attempts")] });
  });

  test("a delivery whose attempts were all used up by crashes", () => {
    const run = { ...goodRun(), deliveries: [delivery({ state: "exhausted", attemptCount: 5 })], requests: [] };
    expect(found(run)).toEqual({ lost: [expect.stringContaining("no receiver had refused it")] });
  });

  test("but not one that the receiver refused until its attempts were used up", () => {
    const run = {
      ...goodRun(),
      deliveries: [delivery({ state: "exhausted", attemptCount: 5 })],
      requests: refusals(5),
    };
    expect(found(run)).toEqual({});
    expect(reconcile(run).figures).toMatchObject({ succeeded: 0, exhausted: 1, acceptedYetExhausted: 0 });
  });

  test("a manual delivery that the API answered for", () => {
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

describe("more than five attempts", () => {
  test("as the database counts them", () => {
    const run = { ...goodRun(), deliveries: [delivery({ attemptCount: 6 })] };
    expect(found(run)).toHaveProperty("tooManyAttempts", [
      expect.stringContaining("counted 6"),
      expect.stringContaining("6 attempts in its history"),
    ]);
  });

  test("as the receiver counts them", () => {
    const run = {
      ...goodRun(),
      deliveries: [delivery({ attemptCount: 5 })],
      requests: [...refusals(5), request({ at: T0 + 6_000 })],
    };
    expect(found(run)).toEqual({ tooManyAttempts: [expect.stringContaining("came 6 times")] });
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

describe("attempts to a disabled endpoint", () => {
  const disabling = { endpointId: "endpoint", by: "admin", from: T0 - 10_000, until: T0 + 10_000 } as const;

  test("a request that comes when no claim from before can be good any more", () => {
    expect(found({ ...goodRun(), disablings: [disabling] })).toEqual({
      afterDisabling: ["delivery delivery-1 came 10000 ms after endpoint was disabled"],
    });
  });

  test("but not one that was claimed just before, nor one after the resume, nor one to another endpoint", () => {
    const run = { ...goodRun(), disablings: [{ ...disabling, from: T0 - 1_000 }] };
    expect(found(run)).toEqual({});
    expect(reconcile(run).figures).toMatchObject({ underWayWhenDisabled: 1, latestAfterDisablingMs: 1_000 });
    expect(found({ ...goodRun(), disablings: [{ ...disabling, until: T0 - 1 }] })).toEqual({});
    expect(found({ ...goodRun(), disablings: [{ ...disabling, endpointId: "another" }] })).toEqual({});
  });
});

describe("wrong signature or changed body", () => {
  test("a request that the verifier refuses", () => {
    const run = { ...goodRun(), requests: [request({ forgery: "the signature fits no known secret" })] };
    expect(found(run)).toHaveProperty("forged", ["delivery delivery-1: the signature fits no known secret"]);
  });

  test("a body that is not the event's", () => {
    expect(found({ ...goodRun(), requests: [request({ bodyHash: "hash-2" })] })).toHaveProperty("forged");
  });

  test("a delivery that nobody stored, or that belongs to another endpoint", () => {
    const run = goodRun();
    expect(found({ ...run, requests: [...run.requests, request({ deliveryId: "made-up" })] })).toHaveProperty("forged");
    expect(found({ ...run, requests: [request({ endpointId: "another" })] })).toHaveProperty("forged");
  });

  test("a stored delivery of an event that the endpoint did not subscribe to, or that nobody emitted", () => {
    const run = goodRun();
    for (const eventId of ["event-2", "event-3", "nobody's"]) {
      const stray = delivery({ id: "stray", eventId, state: "exhausted", attemptCount: 5 });
      expect(found({ ...run, deliveries: [...run.deliveries, stray] })).toHaveProperty("forged");
    }
  });
});

test("deliveries without an end, and messages that nobody takes", () => {
  const run = goodRun();
  for (const state of ["pending", "parked"] as const) {
    expect(found({ ...run, deliveries: [delivery({ state })] })).toHaveProperty("unending");
  }
  expect(found({ ...run, leftInQueues: { "herald.events.rejected": 2 } })).toEqual({
    unending: ["2 messages lie in herald.events.rejected"],
  });
});

describe("duplicates", () => {
  const twice = () => ({
    ...goodRun(),
    requests: [request({}), request({ at: T0 + 9_000 })],
    deliveries: [delivery({ attemptCount: 2 })],
  });

  test("one that nothing explains", () => {
    expect(found(twice())).toEqual({
      unexplainedDuplicates: ["delivery delivery-1 came again 9000 ms after it was accepted"],
    });
  });

  test("one that a killed dispatcher, a crashed database or a broken way between them explains", () => {
    for (const some of [
      fault({}),
      fault({ kind: "postgres-crashed", target: "postgres" }),
      fault({ kind: "stall", target: "dispatcher-2>postgres" }),
    ]) {
      const run = { ...twice(), faults: [some] };
      expect(found(run)).toEqual({});
      expect(reconcile(run).figures.duplicates).toEqual({ [some.kind]: 1 });
    }
  });

  test("a fault explains nothing that it did not touch: another service, another time, or because it never happened", () => {
    for (const some of [
      fault({ target: "publisher-1" }),
      fault({ kind: "terminate" }),
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

  test("an acceptance that came when the sender had given up explains the next attempt", () => {
    const [first, second] = [
      delivery({ attemptCount: 2 }),
      [request({ endedAt: T0 + 1_990 }), request({ at: T0 + 4_000 })],
    ] as const;
    const attempts = first.attempts.map((each) =>
      each.number === 1 ? { ...each, errorSummary: "timed out after 2 s" } : each,
    );
    const run = { ...goodRun(), deliveries: [{ ...first, attempts }], requests: [...second] };
    expect(reconcile(run).figures.duplicates).toEqual({ "late answer": 1 });
    expect(found({ ...run, requests: [request({}), request({ at: T0 + 4_000 })] })).toHaveProperty(
      "unexplainedDuplicates",
    );
  });

  test("so does one that the sender read too late, where the machine had no time for anybody", () => {
    const timedOut = delivery({ attemptCount: 2 });
    for (const attempt of timedOut.attempts.slice(0, 1)) attempt.errorSummary = "timed out after 2 s";
    const requests = [request({ endedAt: T0 + 1_550 }), request({ at: T0 + 4_000 })];
    const run = { ...goodRun(), deliveries: [timedOut], requests };
    expect(reconcile({ ...run, stoodStillMs: 300 }).figures.duplicates).toEqual({ "late answer": 1 });
    expect(found(run)).toHaveProperty("unexplainedDuplicates");
  });

  test("a retry of what the receiver refused is none", () => {
    const run = {
      ...goodRun(),
      deliveries: [delivery({ attemptCount: 2 })],
      requests: [...refusals(1), request({ at: T0 + 2_000 })],
    };
    expect(found(run)).toEqual({});
  });
});

describe("disabled endpoints", () => {
  const attempts = ["a/1", "a/2", "b/1", "b/2", "c/1"];
  const notice = { id: "notice-1", type: "endpoint.disabled", endpointId: "endpoint", attempts };
  const disabling = { endpointId: "endpoint", by: "herald", from: T0 + 1_000, until: T0 + 2_000 } as const;

  test("by as many failed attempts as it takes, and told to the product, also twice", () => {
    expect(found({ ...goodRun(), notices: [notice, notice], disablings: [disabling] })).toEqual({});
  });

  test("by fewer: one of them counted twice", () => {
    const doubled = { ...notice, attempts: ["a/1", "a/2", "a/2", "b/1", "b/1"] };
    expect(found({ ...goodRun(), notices: [doubled], disablings: [disabling] })).toEqual({
      wronglyDisabled: ["endpoint was disabled by 3 failed attempts"],
    });
  });

  test("without a word to the product", () => {
    const run = {
      ...goodRun(),
      notices: [notice],
      disablings: [disabling, { ...disabling, from: T0 + 3_000, until: T0 + 4_000 }],
    };
    expect(found(run)).toEqual({
      wronglyDisabled: [expect.stringContaining("2 times, and the product was told 1 times")],
    });
    expect(found({ ...run, disablings: [disabling, { ...disabling, by: "admin" }] })).toEqual({});
  });
});

test("a service that ended by itself fails the run", () => {
  const run = {
    ...goodRun(),
    ownEnds: [{ service: "publisher-1", at: T0, lastLines: ["TypeError: x is not a function"] }],
  };
  expect(found(run)).toEqual({ crashed: [expect.stringContaining("TypeError")] });
});
