import { createRegistry } from "@herald/common/telemetry/metrics";
import type { FailureKind } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { type SteeredClock, steeredClock } from "@herald/dev/harness/steered-clock";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { ProbeResult } from "../attempt/probe.ts";
import { createMetrics } from "../metrics.ts";
import { createOutage, type Outage } from "./outage.ts";
import type { Fault } from "./watch.ts";

let clock: SteeredClock;
let outage: Outage;
let outageMetric: () => Promise<number | undefined>;
/** What a probe of a host says. */
let network: (host: string, port: number) => ProbeResult | Promise<ProbeResult>;
/** Whether name servers answer a question for nobody's name. */
let namesAnswered: boolean;
let isWayOpen: boolean;
/** Enabled receivers that were not attempted yet. */
let strangers: ReturnType<typeof delivery>[];
let probed: string[];
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
  returns = 0;
  const metrics = createMetrics(createRegistry("test"));
  outageMetric = async () => (await metrics.outage.get()).values[0]?.value;
  outage = createOutage({
    clock,
    probe: {
      async reach(layer, { host, port }) {
        probed.push(`${layer} ${host}`);
        return await Promise.race([network(host, port), ended]);
      },
      areNamesAnswered: async () => namesAnswered,
      isWayOpen: async () => isWayOpen,
    },
    others: async () => strangers,
    metrics,
    log: { debug() {}, info() {}, warn() {}, error() {}, isDebug: false },
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

/** An attempt that began a moment ago, and reached somebody or failed so. */
function ends(index: number, failureKind: FailureKind | null): Promise<Fault> {
  clock.advance(10);
  return outage.judge(delivery(index), { durationMs: 5, failureKind, reached: failureKind === null });
}

const many = (count: number, failureKind: FailureKind) =>
  Promise.all(Array.from({ length: count }, (_, index) => ends(index, failureKind)));

describe("whose fault it is that a receiver was not reached", () => {
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
  ])("%s of many endpoints at once is Herald's, until somebody can be reached", async (kind) => {
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
    "%s of many endpoints is their own, where a receiver that was reached lately still can be",
    async (kind) => {
      await ends(99, null);
      expect(new Set(await many(10, kind))).toEqual(new Set(["theirs"]));
      expect(outage.isOn()).toBe(false);
    },
  );

  test.each<FailureKind>(["resolver_failed", "unreachable", "connection_refused"])(
    "%s of many endpoints is their own, where any other receiver can be reached: no dead ones stop all the rest",
    async (kind) => {
      network = (host) => (host === "99.example" ? "reached" : "failed");
      strangers = [delivery(99)];
      expect(new Set(await many(10, kind))).toEqual(new Set(["theirs"]));
      expect(outage.isOn()).toBe(false);
    },
  );

  test("an outage is none, where at another port of a dead host a receiver can be reached", async () => {
    network = (_host, port) => (port === 8443 ? "reached" : "failed");
    strangers = [{ ...delivery(0), url: "https://0.example:8443/hooks" }];
    expect(new Set(await many(10, "connection_refused"))).toEqual(new Set(["theirs"]));
    expect(outage.isOn()).toBe(false);
  });

  test("one failure is Herald's, where nobody can be reached who was lately: no night is too quiet to tell", async () => {
    for (const index of [1, 2, 3, 4]) await ends(index, null);
    network = () => "failed";
    expect(await ends(5, "resolver_failed")).toBe("ours");
    expect(outage.isOn()).toBe(true);
  });

  test("where too few are known to tell, a failure is the receiver's", async () => {
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

  describe("name servers that answer nobody", () => {
    const byAddress = { ...delivery(2), url: "https://192.0.2.1/hooks" };

    beforeEach(() => {
      network = () => "failed";
      namesAnswered = false;
    });

    test("are Herald's own outage, however few receivers there are", async () => {
      await ends(1, null);
      expect(await ends(1, "resolver_failed")).toBe("ours");
      expect(outage.isOn()).toBe(true);
      clock.advance(1);
      namesAnswered = true;
      network = () => "reached";
      await eventually(() => expect(outage.isOn()).toBe(false));
    });

    test("are Herald's own outage for a dispatcher that starts in it, or takes over from another one", async () => {
      strangers = [delivery(1), delivery(2)];
      expect(await ends(1, "resolver_failed")).toBe("ours");
      expect(outage.isOn()).toBe(true);
    });

    test("stop nothing where none was reached yet, and one has no name", async () => {
      strangers = [delivery(1), byAddress];
      expect(await ends(1, "resolver_failed")).toBe("theirs");
    });

    test("stop nothing where a receiver is reached without a name", async () => {
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

  test("an undecided failure is the receiver's as soon as an attempt that began later reaches somebody", async () => {
    await ends(1, null);
    network = () => new Promise(() => {});
    const undecided = ends(2, "unreachable");
    await ends(3, null);
    expect(await undecided).toBe("theirs");
  });

  describe("around an outage that is known", () => {
    /** An attempt that ends now and took so long. */
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

    test("an attempt that lost its receiver's connection in the outage is nobody's failure, whenever it began and ended", async () => {
      expect(await endsAfter(20, 15_000, "timed_out", true)).toBe("ours");
      await end();
      expect(await endsAfter(21, 15_000, "timed_out", true)).toBe("ours");
      expect(await endsAfter(22, 1_500, "connection_reset", true)).toBe("ours");
    });

    test("an answer is the receiver's own, also in an outage", async () => {
      expect(await endsAfter(20, 15_000, "http_status", true)).toBe("theirs");
      expect(await endsAfter(20, 15_000, null, true)).toBe("theirs");
    });

    test("an attempt that began after the outage is the receiver's, when somebody is reached", async () => {
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

  test("in an outage, all receivers are probed in turn", async () => {
    network = () => "failed";
    await many(20, "unreachable");
    await eventually(() => expect(new Set(probed).size).toBe(20));
  });
});
