import type { FailureKind } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { type SteeredClock, steeredClock } from "@herald/dev/harness/steered-clock";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { basics } from "../../test/basics.ts";
import { createOutage, type Outage } from "./outage.ts";
import type { ProbeResult } from "./probe.ts";
import { createOutageSense, MIN_HOSTS, MIN_ORGANIZATIONS, type Unreached, WINDOW_MS } from "./sense.ts";

let clock: SteeredClock;
let outage: Outage;
let outageMetric: () => Promise<number | undefined>;
/** The result of a probe of a host. */
let network: (host: string, port: number) => ProbeResult | Promise<ProbeResult>;
/** Whether name servers answer a question for a name that does not exist. */
let namesAnswered: boolean;
let isWayOpen: boolean;
/** Enabled receivers that were not attempted yet. */
let strangers: ReturnType<typeof delivery>[];
let probed: string[];
/** How long ago the process last stood still. */
let stoodStillMsAgo: number;
let returns: number;
/** Ends the probes that have no answer. */
let endProbes: () => void;

beforeEach(() => {
  const ended = new Promise<ProbeResult>((resolve) => {
    endProbes = () => resolve("unclear");
  });
  clock = steeredClock();
  network = () => "reached";
  namesAnswered = true;
  isWayOpen = true;
  strangers = [];
  probed = [];
  stoodStillMsAgo = Number.POSITIVE_INFINITY;
  returns = 0;
  const parts = basics({ clock });
  outageMetric = async () => (await parts.metrics.outage.get()).values[0]?.value;
  outage = createOutage({
    ...parts,
    probe: {
      async reach(layer, { host, port }) {
        probed.push(`${layer} ${host}`);
        return await Promise.race([network(host, port), ended]);
      },
      areNamesAnswered: async () => namesAnswered,
      isWayOpen: async () => isWayOpen,
    },
    others: async (count) => strangers.slice(0, count),
    standstill: { within: (lastMs) => lastMs >= stoodStillMsAgo, stop() {} },
    probeEveryMs: 1,
  });
  outage.onReturn(() => void returns++);
});
afterEach(async () => {
  endProbes();
  await outage.stop();
});

const delivery = (index: number) => ({
  endpointId: `endpoint ${index}`,
  organizationId: `organization ${index}`,
  url: `https://${index}.example/hooks`,
});

/** An attempt that began a moment ago, and reached its receiver or failed with this kind. */
function ends(index: number, failureKind: FailureKind | null): ReturnType<Outage["judge"]> {
  clock.advance(10);
  return outage.judge(delivery(index), { durationMs: 5, failureKind, reached: failureKind === null });
}

const many = (count: number, failureKind: FailureKind) =>
  Promise.all(Array.from({ length: count }, (_, index) => ends(index, failureKind)));

test.each<FailureKind>(["name_not_found", "address_blocked", "url_not_https", "other"])(
  "%s is always the endpoint's own",
  async (kind) => {
    expect(new Set(await many(10, kind))).toEqual(new Set(["theirs"]));
    expect(probed).toEqual([]);
  },
);

test.each<FailureKind>([
  "resolver_failed",
  "proxy_failed",
  "unreachable",
  "connection_refused",
  "connection_timed_out",
  "timed_out",
])("%s of many endpoints at once is Herald's own fault, until a receiver can be reached", async (kind) => {
  network = () => "failed";
  expect(new Set(await many(10, kind))).toEqual(new Set(["ours"]));
  expect(outage.isOn()).toBe(true);
  expect(outage.since()).toEqual(clock.now());
  expect(await outageMetric()).toBe(1);
  expect(await ends(11, kind)).toBe("ours");
  clock.advance(1);
  network = () => "reached";
  await eventually(() => expect(outage.isOn()).toBe(false));
  expect(outage.since()).toBeNull();
  expect(await outageMetric()).toBe(0);
  expect(returns).toBe(1);
});

test.each<FailureKind>(["resolver_failed", "unreachable", "connection_refused"])(
  "%s of many endpoints is their own fault if a receiver that was reached lately still can be",
  async (kind) => {
    await ends(99, null);
    expect(new Set(await many(10, kind))).toEqual(new Set(["theirs"]));
    expect(outage.isOn()).toBe(false);
  },
);

test.each<FailureKind>(["resolver_failed", "unreachable", "connection_refused"])(
  "%s of many endpoints is their own fault if any other receiver can be reached: dead ones do not stop the rest",
  async (kind) => {
    network = (host) => (host === "99.example" ? "reached" : "failed");
    strangers = [delivery(99)];
    expect(new Set(await many(10, kind))).toEqual(new Set(["theirs"]));
    expect(outage.isOn()).toBe(false);
  },
);

test("there is no outage if a receiver can be reached at another port of a dead host", async () => {
  network = (_host, port) => (port === 8443 ? "reached" : "failed");
  strangers = [{ ...delivery(0), url: "https://0.example:8443/hooks" }];
  expect(new Set(await many(10, "connection_refused"))).toEqual(new Set(["theirs"]));
  expect(outage.isOn()).toBe(false);
});

test("one failure is Herald's own fault if none of the receivers that were reached lately can be, even in a quiet night", async () => {
  for (const index of [1, 2, 3, 4]) await ends(index, null);
  network = () => "failed";
  expect(await ends(5, "resolver_failed")).toBe("ours");
  expect(outage.isOn()).toBe(true);
});

test("a failure is the receiver's own if too few receivers are known to decide", async () => {
  await ends(1, null);
  network = () => "failed";
  expect(await ends(5, "resolver_failed")).toBe("theirs");
  expect(outage.isOn()).toBe(false);
});

test("an egress proxy that is dead is Herald's own outage, with one receiver and none reached before", async () => {
  network = () => "failed";
  isWayOpen = false;
  expect(await ends(1, "proxy_failed")).toBe("ours");
  expect(outage.isOn()).toBe(true);
  isWayOpen = true;
  await eventually(() => expect(outage.isOn()).toBe(false));
  expect(await ends(1, "proxy_failed")).toBe("theirs");
});

describe("silent name servers", () => {
  const byAddress = { ...delivery(2), url: "https://192.0.2.1/hooks" };

  beforeEach(() => {
    network = () => "failed";
    namesAnswered = false;
  });

  test("silent name servers are Herald's own outage, however few receivers there are", async () => {
    await ends(1, null);
    expect(await ends(1, "resolver_failed")).toBe("ours");
    expect(outage.isOn()).toBe(true);
    clock.advance(1);
    namesAnswered = true;
    network = () => "reached";
    await eventually(() => expect(outage.isOn()).toBe(false));
  });

  test("silent name servers are Herald's own outage for a dispatcher that has just started or taken over", async () => {
    strangers = [delivery(1), delivery(2)];
    expect(await ends(1, "resolver_failed")).toBe("ours");
    expect(outage.isOn()).toBe(true);
  });

  test("silent name servers stop nothing if no receiver was reached yet, and one has an address instead of a name", async () => {
    strangers = [delivery(1), byAddress];
    expect(await ends(1, "resolver_failed")).toBe("theirs");
  });

  test("silent name servers stop nothing while a receiver is reached by its address", async () => {
    await ends(1, null);
    await outage.judge(byAddress, { durationMs: 5, failureKind: null, reached: true });
    expect(await ends(1, "resolver_failed")).toBe("theirs");
  });
});

test("a receiver that refuses while no others do is believed without a probe", async () => {
  network = () => new Promise(() => {});
  expect(await ends(1, "connection_refused")).toBe("theirs");
  expect(await ends(2, "connection_refused")).toBe("theirs");
  expect(probed).toEqual([]);
});

test("an undecided failure is the receiver's own as soon as an attempt that began later reaches a receiver", async () => {
  await ends(1, null);
  network = () => new Promise(() => {});
  const undecided = ends(2, "unreachable");
  await ends(3, null);
  expect(await undecided).toBe("theirs");
});

test.each<[FailureKind, boolean]>([
  ["timed_out", false],
  ["timed_out", true],
  ["connection_reset", true],
  ["connection_timed_out", false],
  ["resolver_failed", false],
  ["tls_failed", false],
])(
  "regression: %s (receiver reached: %p) of an attempt in which this process stood still is not the receiver's",
  async (failureKind, reached) => {
    await ends(99, null);
    clock.advance(20_000);
    stoodStillMsAgo = 1_000;
    const within = { durationMs: 15_000, failureKind, reached };
    expect(await outage.judge(delivery(1), within)).toBe("ours");
    expect(await outage.judge(delivery(2), { ...within, durationMs: 0 })).toBe("theirs");
    expect(outage.isOn()).toBe(false);
  },
);

test("a delivery's third attempt in which this process stood still counts, and no other delivery's", async () => {
  await ends(99, null);
  stoodStillMsAgo = 1_000;
  const timedOut = { durationMs: 15_000, failureKind: "timed_out" as const, reached: true };
  const [hangs, other] = [{}, {}];
  const verdicts: Awaited<ReturnType<Outage["judge"]>>[] = [];
  for (let attempt = 0; attempt < 4; attempt++) {
    clock.advance(20_000);
    verdicts.push(await outage.judge(delivery(1), timedOut, hangs));
  }
  expect(verdicts).toEqual(["ours", "ours", "theirs", "theirs"]);
  expect(await outage.judge(delivery(1), timedOut, other)).toBe("ours");
});

test.each([
  ["this machine had nothing left", "machine", "other"],
  ["the name servers were silent, and answer again by now", "name servers", "resolver_failed"],
] as const)("a failure for which %s is not the receiver's", async (_title, ownFault, failureKind) => {
  await ends(99, null);
  const failed = { durationMs: 5, failureKind, reached: false };
  expect(await outage.judge(delivery(1), { ...failed, ownFault })).toBe("ours");
  expect(outage.isOn()).toBe(false);
  expect(await outage.judge(delivery(1), failed)).toBe("theirs");
});

test("an answer is the receiver's own, also if this process stood still before it", async () => {
  stoodStillMsAgo = 1_000;
  const answer = { durationMs: 15_000, failureKind: "http_status" as const, reached: true };
  expect(await outage.judge(delivery(1), answer)).toBe("theirs");
});

describe("around an outage that is known", () => {
  /** An attempt that ends now and took this long. */
  const endsAfter = (index: number, durationMs: number, failureKind: FailureKind | null, reached = false) =>
    outage.judge(delivery(index), { durationMs, failureKind, reached });

  beforeEach(async () => {
    network = () => "failed";
    clock.advance(20_000);
    await many(10, "unreachable");
    expect(outage.isOn()).toBe(true);
  });

  async function end(): Promise<void> {
    clock.advance(1_000);
    network = () => "reached";
    await eventually(() => expect(outage.isOn()).toBe(false));
    clock.advance(1_000);
  }

  test.each<FailureKind>(["resolver_failed", "unreachable", "connection_timed_out", "timed_out"])(
    "%s of an attempt that began during the outage and fails after it is Herald's",
    async (kind) => {
      await end();
      const faults = await Promise.all(Array.from({ length: 10 }, (_, index) => endsAfter(20 + index, 1_500, kind)));
      expect(new Set(faults)).toEqual(new Set(["ours"]));
      expect(outage.isOn()).toBe(false);
    },
  );

  test("an attempt that lost its receiver's connection in the outage is not the receiver's failure, whenever it began and ended", async () => {
    expect(await endsAfter(20, 15_000, "timed_out", true)).toBe("ours");
    await end();
    expect(await endsAfter(21, 15_000, "timed_out", true)).toBe("ours");
    expect(await endsAfter(22, 1_500, "connection_reset", true)).toBe("ours");
  });

  test("an answer is the receiver's own, also in an outage", async () => {
    expect(await endsAfter(20, 15_000, "http_status", true)).toBe("theirs");
    expect(await endsAfter(20, 15_000, null, true)).toBe("theirs");
  });

  test("a failure of an attempt that began after the outage is the receiver's own, since receivers are reached", async () => {
    await end();
    expect(await endsAfter(20, 999, "connection_refused")).toBe("theirs");
    expect(await endsAfter(21, 999, "timed_out", true)).toBe("theirs");
  });
});

test("receivers that are reached over open connections do not hide that name servers are dead", async () => {
  network = () => "failed";
  const undecided = many(10, "resolver_failed");
  await ends(20, null);
  expect(new Set(await undecided)).toEqual(new Set(["ours"]));
  await ends(20, null);
  expect(outage.isOn()).toBe(true);
});

test("a stop gives back what is undecided", async () => {
  await ends(1, null);
  network = () => new Promise(() => {});
  const undecided = ends(2, "resolver_failed");
  await eventually(() => expect(probed).toHaveLength(1));
  const stopped = outage.stop();
  expect(await undecided).toBe("ours");
  endProbes();
  await stopped;
});

test.each<FailureKind>(["unreachable", "connection_refused", "resolver_failed"])(
  "regression: an outage by %s ends if those that were reached before stay dead, and another receiver can be reached",
  async (kind) => {
    for (let index = 0; index < 64; index++) await ends(index, null);
    network = () => "failed";
    await many(10, kind);
    expect(outage.isOn()).toBe(true);
    clock.advance(1_000);
    strangers = [delivery(99)];
    network = (host) => (host === "99.example" ? "reached" : "failed");
    await eventually(() => expect(outage.isOn()).toBe(false));
  },
);

test("regression: an outage ends as soon as one receiver is reached, and receivers that stay dead begin no second one", async () => {
  for (let index = 0; index < 6; index++) await ends(index, null);
  network = () => "failed";
  const six = () => Promise.all(Array.from({ length: 6 }, (_, index) => ends(index, "unreachable")));
  expect(new Set(await six())).toEqual(new Set(["ours"]));
  // A healthy newcomer, behind as many receivers as one round probes. The others' probes have no answer for seconds.
  clock.advance(1_000);
  network = (host) => (host === "99.example" ? "reached" : new Promise(() => {}));
  strangers = [...Array.from({ length: 6 }, (_, index) => delivery(index)), delivery(99)];
  await eventually(() => expect(outage.isOn()).toBe(false));
  // It is nobody's turn among the others, and nothing is sent to the newcomer.
  strangers = [];
  network = (host) => (host === "99.example" ? "reached" : "failed");
  endProbes();
  clock.advance(1_000);
  expect(new Set(await six())).toEqual(new Set(["theirs"]));
  expect(returns).toBe(1);
});

test("regression: an outage of names ends when the name servers answer, even if they say that none of the names exists", async () => {
  for (let index = 0; index < 10; index++) await ends(index, null);
  network = () => "failed";
  namesAnswered = false;
  await many(10, "resolver_failed");
  expect(outage.isOn()).toBe(true);
  clock.advance(1_000);
  namesAnswered = true;
  network = () => "unclear";
  await eventually(() => expect(outage.isOn()).toBe(false));
});

test("an outage of names stays while a local resolver still answers for a name that does not exist, and fails for receivers", async () => {
  for (let index = 0; index < 10; index++) await ends(index, null);
  network = () => "failed";
  await many(10, "resolver_failed");
  const before = probed.length;
  clock.advance(1_000);
  await eventually(() => expect(probed.length).toBeGreaterThan(before + 50));
  expect(outage.isOn()).toBe(true);
});

test("in an outage, all receivers are probed in turn", async () => {
  network = () => "failed";
  await many(20, "unreachable");
  await eventually(() => expect(new Set(probed).size).toBe(20));
});

/** A failure of an endpoint that has a host of its own. */
const failure = (index: number, startedMs: number, override: Partial<Unreached> = {}): Unreached => ({
  endpointId: `endpoint ${index}`,
  organizationId: `organization ${index}`,
  url: `https://${index}.example/hooks`,
  host: `${index}.example`,
  port: 443,
  startedMs,
  endedMs: startedMs + 6_000,
  ...override,
});

interface Ended {
  /** The endpoint that failed; null for a success. */
  endpoint: number | null;
  durationMs: number;
  /** Since the previous attempt ended. */
  afterMs: number;
}

const attempts = fc.record<Ended>({
  endpoint: fc.option(fc.integer({ min: 0, max: 11 }), { freq: 6 }),
  durationMs: fc.integer({ min: 0, max: 16_000 }),
  afterMs: fc.integer({ min: 0, max: 3_000 }),
});

/** Endpoints share hosts and organizations. */
const failureOf = (endpoint: number, startedMs: number, endedMs: number): Unreached => ({
  ...failure(endpoint, startedMs, { endedMs, host: `${endpoint % 7}.example` }),
  organizationId: `organization ${endpoint % 4}`,
});

const isEnough = (failures: readonly Unreached[]) =>
  new Set(failures.map(({ host }) => host)).size >= MIN_HOSTS &&
  new Set(failures.map(({ organizationId }) => organizationId)).size >= MIN_ORGANIZATIONS;

test("in whatever order attempts end, an outage needs many failures, and no receiver reached since (property)", () => {
  fc.assert(
    fc.property(fc.array(attempts, { maxLength: 60 }), (all) => {
      const sense = createOutageSense();
      const failures = new Map<string, Unreached>();
      let nowMs = 0;
      let reachedMs = Number.NEGATIVE_INFINITY;
      for (const { endpoint, durationMs, afterMs } of all) {
        const before = sense.isOn();
        nowMs += afterMs;
        const startedMs = nowMs - durationMs;
        if (endpoint === null) {
          sense.reached(startedMs);
          reachedMs = Math.max(reachedMs, startedMs);
        } else {
          const one = failureOf(endpoint, startedMs, nowMs);
          sense.failed(one);
          if (startedMs > reachedMs) failures.set(one.endpointId, one);
        }
        const standing = [...failures.values()].filter((each) => each.startedMs > reachedMs);
        const recent = standing.filter(({ endedMs }) => endedMs > nowMs - WINDOW_MS);
        if (sense.isOn()) expect(isEnough(before ? standing : recent)).toBe(true);
        if (isEnough(recent)) expect(sense.isOn()).toBe(true);
        if (standing.length === 0) expect(sense.isOn()).toBe(false);
      }
    }),
    { numRuns: 2_000 },
  );
});
