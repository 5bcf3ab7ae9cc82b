import { describe, expect, test } from "@jest/globals";
import type { History, InjectedFault, ReceivedRequest, StoredAttempt, StoredDelivery } from "./history.ts";
import { type Findings, reconcile } from "./reconcile.ts";

// What must be found. What must not be is shown by each run of `pnpm chaos` that passes.

const T0 = Date.parse("2026-03-01T12:00:00Z");

/** One event for one endpoint, delivered by its first attempt; each test changes what it is about. */
function run(change: Partial<History> = {}): History {
  return {
    events: [
      { id: "event-1", organizationId: "org", type: "RiskCreated", bodyHash: "hash-1", confirmed: true },
      { id: "event-2", organizationId: "other", type: "RiskCreated", bodyHash: "hash-2", confirmed: true },
      { id: "event-3", organizationId: "org", type: "Unknown", bodyHash: "hash-3", confirmed: true },
      { id: "event-4", organizationId: "org", type: "RiskCreated", bodyHash: "hash-4", confirmed: false },
    ],
    manual: [],
    endpoints: [{ id: "endpoint", organizationId: "org", character: "flaky", types: ["RiskCreated"] }],
    requests: [request()],
    deliveries: [delivery()],
    disablings: [],
    notices: [],
    faults: [],
    ownEnds: [],
    stoodStillMs: 0,
    leftInQueues: { inbox: 0 },
    settings: { leaseMs: 8_000, attemptTimeoutMs: 2_000, maxAttempts: 5, disableAfter: 5 },
    ...change,
  };
}

function request(change: Partial<ReceivedRequest> = {}): ReceivedRequest {
  return {
    endpointId: "endpoint",
    deliveryId: "delivery-1",
    at: T0,
    forgery: null,
    untimely: null,
    bodyHash: "hash-1",
    outcome: "accepted",
    endedAt: (change.at ?? T0) + 10,
    resetWhenReused: false,
    ...change,
  };
}

function delivery(change: Partial<StoredDelivery> = {}, ofSecond: Partial<StoredAttempt> = {}): StoredDelivery {
  const { state = "succeeded", attemptCount = 1 } = change;
  const attempts = Array.from({ length: attemptCount }, (_, index): StoredAttempt => {
    const succeeded = state === "succeeded" && index === attemptCount - 1;
    return {
      number: index + 1,
      startedAt: T0 + index * 1_000,
      durationMs: 10,
      statusCode: succeeded ? 200 : 500,
      errorSummary: succeeded ? null : "receiver answered 500",
      failureKind: succeeded ? null : "http_status",
      ...(index === 1 && ofSecond),
    };
  });
  const rest = { state, attemptCount, isDue: state === "pending", attempts };
  return { id: "delivery-1", endpointId: "endpoint", eventId: "event-1", ...rest, ...change };
}

const fault = (change: Partial<InjectedFault>): InjectedFault => ({
  ...{ kind: "kill", target: "dispatcher-1", from: T0 + 5, until: T0 + 500 },
  ...change,
});
const refusals = (count: number) =>
  Array.from({ length: count }, (_, index) => request({ at: T0 + index * 1_000, outcome: "refused" }));
const exhausted = (attemptCount: number, change: Partial<StoredDelivery> = {}, ofSecond?: Partial<StoredAttempt>) =>
  delivery({ state: "exhausted", attemptCount, ...change }, ofSecond);

/** The findings that are not empty. */
function found(history: History): Partial<Findings> {
  const { passed, findings } = reconcile(history);
  const some = Object.fromEntries(Object.entries(findings).filter(([, list]) => list.length > 0));
  expect(passed).toBe(Object.keys(some).length === 0);
  return some;
}

test("a run in which everything came once passes, whatever was not confirmed, not meant or not supported", () => {
  expect(found(run())).toEqual({});
});

const disabling = { endpointId: "endpoint", by: "admin", from: T0 - 10_000, until: T0 + 10_000 } as const;
const ofHerald = { ...disabling, by: "herald", from: T0 + 1_000, until: T0 + 2_000 } as const;
const notice = (...attempts: string[]) => ({
  ...{ id: "notice-1", type: "endpoint.disabled", endpointId: "endpoint" },
  attempts,
});
const fiveFailures = notice(...[1, 2, 3, 4, 5].map((number) => `refused/${number}`));

/** An endpoint of this character that was disabled by the failures of a delivery, one each `everyMs`. */
function disabledBy(character: string, ofSecond: Partial<StoredAttempt>, everyMs = 1_000): History {
  const refused = exhausted(5, { id: "refused", eventId: null }, ofSecond);
  for (const [index, attempt] of refused.attempts.entries())
    Object.assign(attempt, { startedAt: T0 + index * everyMs, durationMs: 900 });
  const requests = refused.attempts.map(({ startedAt }) =>
    request({ deliveryId: "refused", at: startedAt, outcome: "refused", endedAt: startedAt + 900 }),
  );
  return run({
    endpoints: [{ id: "endpoint", organizationId: "org", character, types: ["RiskCreated"] }],
    requests: [request(), ...requests],
    deliveries: [delivery(), refused],
    notices: [fiveFailures],
    disablings: [ofHerald],
  });
}
const restart = fault({ kind: "receiver-restarts", target: "endpoint", from: T0, until: T0 + 10_000 });
const refusedConnections = disabledBy("restarting", { failureKind: "connection_refused" });

const twice = { requests: [request(), request({ at: T0 + 9_000 })], deliveries: [delivery({ attemptCount: 2 })] };
const timedOut = delivery({ attemptCount: 2 });
for (const attempt of timedOut.attempts.slice(0, 1)) attempt.failureKind = "timed_out";

const ROWS: [what: string, change: Partial<History>, finding: keyof Findings, words: RegExp][] = [
  ["a confirmed event without a delivery", { deliveries: [], requests: [] }, "lost", /never became a delivery/],
  ["a success that no receiver saw", { requests: [] }, "lost", /no receiver accepted it/],
  ["a success that its receiver refused", { requests: refusals(1) }, "lost", /no receiver accepted it/],
  ["a success that was not answered", { requests: [request({ outcome: "unanswered" })] }, "lost", /no receiver/],
  [
    "a manual delivery that nobody stored",
    { manual: [{ deliveryId: "manual-1", endpointId: "endpoint", bodyHash: "manual" }] },
    "lost",
    /manual-1 .*not in the database/,
  ],
  [
    "a delivery that was given up too soon",
    { deliveries: [exhausted(4)], requests: refusals(4) },
    "wronglyExhausted",
    /given up after 4 attempts/,
  ],
  [
    "a delivery that was given up without any request",
    { deliveries: [exhausted(5)], requests: [] },
    "wronglyExhausted",
    /refused none of its requests/,
  ],
  ...(["interrupted", "resolver_failed", "unreachable", "other"] as const).map((failureKind): (typeof ROWS)[number] => [
    `a delivery that was given up by a failure that is Herald's: ${failureKind}`,
    { deliveries: [exhausted(5, {}, { failureKind })], requests: refusals(5) },
    "wronglyExhausted",
    new RegExp(failureKind),
  ]),
  [
    "six attempts that are stored",
    { deliveries: [delivery({ attemptCount: 6 })] },
    "tooManyAttempts",
    /counted 6.*\n.*6 attempts in its history/,
  ],
  [
    "six attempts that came",
    { deliveries: [delivery({ attemptCount: 5 })], requests: [...refusals(5), request({ at: T0 + 6_000 })] },
    "tooManyAttempts",
    /came 6 times/,
  ],
  [
    "a sixth request, cut off where no fault was",
    {
      deliveries: [exhausted(5)],
      requests: [...refusals(5), request({ at: T0 + 1_500, outcome: "refused" })],
      faults: [fault({ from: T0 + 2_500, until: T0 + 2_900 })],
    },
    "tooManyAttempts",
    /came 6 times/,
  ],
  [
    "a sixth request, too late after a reset to be the same attempt",
    {
      deliveries: [exhausted(5)],
      requests: [
        request({ outcome: "unanswered", resetWhenReused: true }),
        ...[1_900, 2_000, 3_000, 4_000, 5_000].map((ms) => request({ at: T0 + ms, outcome: "refused" })),
      ],
    },
    "tooManyAttempts",
    /came 6 times/,
  ],
  [
    "an attempt that is not in the history",
    {
      deliveries: [delivery({ attemptCount: 2, attempts: delivery().attempts })],
      requests: [...refusals(1), request()],
    },
    "unremembered",
    /counted 2 attempts/,
  ],
  ["a request long after its endpoint was disabled", { disablings: [disabling] }, "afterDisabling", /10000 ms after/],
  [
    "a request that its receiver refuses for its timestamp",
    { requests: [request({ untimely: "400 s in the future" }), request({ at: T0 + 1, outcome: "refused" })] },
    "untimely",
    /400 s in the future/,
  ],
  ["a wrong signature", { requests: [request({ forgery: "fits no secret" })] }, "forged", /fits no secret/],
  ["a body that is not the event's", { requests: [request({ bodyHash: "hash-2" })] }, "forged", /another body/],
  [
    "a delivery that is not stored",
    { requests: [request(), request({ deliveryId: "made-up" })] },
    "forged",
    /not in the database/,
  ],
  [
    "a delivery of another endpoint",
    {
      requests: [request(), request({ deliveryId: "other" })],
      deliveries: [delivery(), delivery({ id: "other", eventId: null, endpointId: "another" })],
    },
    "forged",
    /another endpoint/,
  ],
  ...["event-2", "event-3", "nobody's"].map((eventId): (typeof ROWS)[number] => [
    `a stored delivery of an event that the endpoint does not get: ${eventId}`,
    { deliveries: [delivery(), exhausted(5, { id: "stray", eventId })] },
    "forged",
    /of no event for its endpoint/,
  ]),
  ["a delivery without an end", { deliveries: [delivery({ state: "pending" })] }, "unending", /is pending/],
  ["a delivery that ended and is due", { deliveries: [delivery({ isDue: true })] }, "unending", /still due/],
  [
    "a delivery that waits and is not due",
    { deliveries: [delivery({ state: "pending", isDue: false })] },
    "unending",
    /not due/,
  ],
  ["a message that nobody takes", { leftInQueues: { "herald.events.rejected": 2 } }, "unending", /2 messages lie/],
  ["a duplicate", twice, "unexplainedDuplicates", /came again 9000 ms/],
  ...[
    { target: "publisher-1" },
    { kind: "terminate" as const },
    { kind: "row-lock" as const, target: "3" },
    { kind: "long-transaction" as const, target: "postgres" },
    { kind: "cut" as const, target: "dispatcher-1>rabbitmq" },
    { kind: "rabbitmq-killed" as const, target: "rabbitmq" },
    { from: T0 + 9_500, until: T0 + 9_900 },
    { from: T0 - 5_000, until: T0 - 1_000 },
    { skipped: "there was none" },
  ].map((some): (typeof ROWS)[number] => [
    `a duplicate that this did not touch: ${JSON.stringify(some)}`,
    { ...twice, faults: [fault(some)] },
    "unexplainedDuplicates",
    /came again/,
  ]),
  [
    "two attempts at the same time",
    { requests: [request({ outcome: "unanswered", endedAt: T0 + 2_000 }), request({ at: T0 + 500 })] },
    "unexplainedDuplicates",
    /after it was unanswered/,
  ],
  [
    "a duplicate of what was answered before the sender gave up",
    { deliveries: [timedOut], requests: [request({ endedAt: T0 + 1_550 }), request({ at: T0 + 4_000 })] },
    "unexplainedDuplicates",
    /came again/,
  ],
  [
    "an endpoint that three failures disabled, one of them counted twice",
    { notices: [notice("a/1", "a/2", "a/2", "b/1", "b/1")], disablings: [ofHerald] },
    "wronglyDisabled",
    /disabled by 3 failed attempts/,
  ],
  [
    "an endpoint that failures disabled which overlapped",
    disabledBy("broken", {}, 100),
    "wronglyDisabled",
    /disabled by 1 failed/,
  ],
  [
    "an endpoint that was disabled without a notice",
    { notices: [notice("a/1", "a/2", "b/1", "b/2", "c/1")], disablings: [ofHerald, { ...ofHerald, from: T0 + 3_000 }] },
    "wronglyDisabled",
    /2 times, and the product was told 1 times/,
  ],
  [
    "an endpoint that a failed look-up disabled",
    disabledBy("broken", { failureKind: "resolver_failed" }),
    "disabledForOurFault",
    /resolver_failed/,
  ],
  ["an endpoint that takes everything", refusedConnections, "disabledForOurFault", /connection_refused/],
  [
    "an endpoint whose receiver restarted",
    { ...refusedConnections, faults: [restart] },
    "disabledByRestart",
    /restart/,
  ],
  [
    "a service that ended by itself",
    { ownEnds: [{ service: "publisher-1", at: T0, lastLines: ["TypeError: x"] }] },
    "crashed",
    /TypeError/,
  ],
];

describe("a run does not pass with", () => {
  test.each(ROWS)("%s", (_what, change, finding, words) => {
    expect(found(run(change))[finding]?.join("\n")).toMatch(words);
  });
});
