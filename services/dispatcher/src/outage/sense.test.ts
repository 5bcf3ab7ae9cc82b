import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createOutageSense, MIN_HOSTS, MIN_ORGANIZATIONS, type Unreached, WINDOW_MS } from "./sense.ts";

/** A failure of an endpoint that has a host of its own. */
const failure = (index: number, startedMs: number, override: Partial<Unreached> = {}): Unreached => ({
  endpointId: `endpoint ${index}`,
  organizationId: `organization ${index}`,
  host: `${index}.example`,
  port: 443,
  startedMs,
  endedMs: startedMs + 6_000,
  ...override,
});

/** Tells of these failures, and says whether that is an outage. */
function isOutageBy(...failures: Unreached[]): boolean {
  const sense = createOutageSense();
  for (const each of failures) sense.failed(each);
  return sense.isOn();
}

const indexes = (count: number) => Array.from({ length: count }, (_, index) => index);

describe("there is an outage", () => {
  test("by failures of five hosts of three organizations, and not by fewer", () => {
    expect(isOutageBy(...indexes(5).map((index) => failure(index, index)))).toBe(true);
    expect(isOutageBy(...indexes(4).map((index) => failure(index, index)))).toBe(false);
  });

  test("not by failures of many endpoints at one host, of two organizations, or of one endpoint", () => {
    const by = (override: (index: number) => Partial<Unreached>) =>
      isOutageBy(...indexes(40).map((index) => failure(index, index, override(index))));
    expect(by((index) => ({ host: `${index % 4}.example` }))).toBe(false);
    expect(by((index) => ({ organizationId: `organization ${index % 2}` }))).toBe(false);
    expect(by(() => ({ endpointId: "endpoint" }))).toBe(false);
  });

  test("not by failures that lie apart", () => {
    expect(isOutageBy(...indexes(40).map((index) => failure(index, index * (WINDOW_MS / 4))))).toBe(false);
  });

  test("until an attempt that began after its failures reaches somebody", () => {
    const sense = createOutageSense();
    for (const index of indexes(5)) sense.failed(failure(index, 100 + index));
    sense.reached(99);
    expect(sense.isOn()).toBe(true);
    sense.reached(104);
    expect(sense.isOn()).toBe(false);
  });

  test("for as long as nobody is reached, also when nothing is attempted", () => {
    const sense = createOutageSense();
    for (const index of indexes(5)) sense.failed(failure(index, index));
    sense.failed(failure(0, 10 * WINDOW_MS));
    expect(sense.isOn()).toBe(true);
  });
});

interface Told {
  /** A failure of this endpoint, or a success where there is none. */
  endpoint: number | null;
  durationMs: number;
  /** Since the one before it ended. */
  afterMs: number;
}

const told = fc.record<Told>({
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

test("whatever attempts see, in whatever order they end: it takes many failures, and nobody reached since, to make an outage", () => {
  fc.assert(
    fc.property(fc.array(told, { maxLength: 60 }), (all) => {
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
