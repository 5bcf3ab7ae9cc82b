import { steeredClock } from "@herald/dev/harness/steered-clock";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { Endpoint } from "../endpoint/endpoint.ts";
import { createMemory } from "../endpoint/memory.ts";
import type { Delivery } from "../sql/describe-deliveries.ts";
import type { Permit } from "./permits.ts";
import { createProducer } from "./producer.ts";

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

const CONCURRENCY = 4;
const IN_FLIGHT = 12;
const BYTES = 100;

/** A producer and ten endpoints of three organizations. Attempts end when a test says so. */
function world() {
  const clock = steeredClock();
  const memory = createMemory(1_000_000, clock.monotonicMs);
  const times = { nowMs: () => clock.now().getTime(), isDue: () => true };
  const gate = { concurrency: CONCURRENCY, ratePerSecond: undefined, breaker: { pausesMs: [0], disableAfter: 5 } };
  const inFlight: { endpoint: Endpoint; delivery: Delivery; permit: Permit; isSlow: boolean }[] = [];
  const set = { mayBegin: true, large: 0 };
  let made = 0;
  let reads = 0;
  const begun: Endpoint[] = [];
  const endpoints = Array.from({ length: 10 }, (_, index) => {
    const endpoint = new Endpoint(`0190a1b2-0000-7000-8000-00000000000${index}`, `organization ${index % 3}`, {
      ...{ clock, memory, times, gate },
    });
    endpoint.gate.breaker.know({ failures: 0, pausedUntil: null });
    return endpoint;
  });
  const stored = new Map<Endpoint, number>();

  const deliveryTo = ({ id, organizationId }: Endpoint, bodyBytes: number): Delivery => ({
    ...{ endpointId: id, organizationId, deliveryId: String(made++), eventType: "RiskCreated", eventKey: null },
    ...{ dueAt: new Date(0), createdAt: new Date(0), attempts: 0, interruptions: 0, traceparent: null },
    ...{ body: bodyBytes > 2 ? null : "{}", bodyBytes },
  });

  const producer = createProducer(
    {
      mayBegin: () => set.mayBegin,
      async read(endpoint, reserved) {
        reads++;
        const reading = endpoint.line.beginReading(reserved, 0);
        await Promise.resolve();
        const count = Math.min(reserved, stored.get(endpoint) ?? 0);
        stored.set(endpoint, (stored.get(endpoint) ?? 0) - count);
        const deliveries = Array.from({ length: count }, () => deliveryTo(endpoint, 2));
        endpoint.line.endReading(reading, { rows: deliveries, deliveries });
      },
      attempt(endpoint, delivery, permit) {
        endpoint.gate.begin({ manual: false });
        begun.push(endpoint);
        inFlight.push({ endpoint, delivery, permit, isSlow: false });
        if (delivery.body === null) set.large += delivery.bodyBytes;
      },
      woke: (endpoint) => producer.offer(endpoint),
      log: { error() {} },
    },
    { inFlight: IN_FLIGHT, bodiesBytes: BYTES },
  );

  return {
    producer,
    endpoints,
    inFlight,
    begun,
    set,
    stored,
    reads: () => reads,
    hand(endpoint: Endpoint, count: number, bodyBytes = 2) {
      endpoint.line.add(Array.from({ length: count }, () => deliveryTo(endpoint, bodyBytes)));
      producer.offer(endpoint);
    },
    store(endpoint: Endpoint, count: number) {
      stored.set(endpoint, (stored.get(endpoint) ?? 0) + count);
      endpoint.line.wantMore();
      producer.offer(endpoint);
    },
    slow(index: number) {
      const each = inFlight[index % Math.max(1, inFlight.length)];
      if (!each || each.isSlow) return;
      each.isSlow = true;
      each.endpoint.gate.slow();
      each.permit.slow();
      producer.offer(each.endpoint);
    },
    end(index: number) {
      const [each] = inFlight.splice(index % Math.max(1, inFlight.length), 1);
      if (!each) return;
      const { endpoint, delivery, permit, isSlow } = each;
      if (delivery.body === null) set.large -= delivery.bodyBytes;
      producer.took(endpoint, isSlow ? 2_000 : 5);
      permit.ended();
      endpoint.gate.over({ wasSlow: isSlow });
      producer.settled(endpoint, delivery, permit);
      endpoint.line.settled(delivery, null);
      producer.offer(endpoint);
    },
    async turn() {
      clock.advance(1);
      await jest.advanceTimersByTimeAsync(1);
    },
  };
}

const step = fc.record({
  do: fc.constantFrom("hand", "store", "large", "end", "end", "slow", "stop", "go", "turn", "turn"),
  index: fc.nat(9),
  count: fc.nat(6),
});

test("no limit is exceeded, and everything begins in the end, in whatever order work and results come", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      jest.useFakeTimers({ now: 0 });
      const { endpoints, inFlight, begun, set, stored, hand, store, slow, end, turn, producer } = world();
      let asked = 0;
      const check = () => {
        expect(inFlight.length).toBeLessThanOrEqual(IN_FLIGHT);
        expect(inFlight.filter(({ isSlow }) => !isSlow).length).toBeLessThanOrEqual(IN_FLIGHT);
        for (const endpoint of endpoints) {
          expect(endpoint.gate.inFlight).toBeLessThanOrEqual(CONCURRENCY);
          expect(endpoint.gate.inFlight).toBe(inFlight.filter((each) => each.endpoint === endpoint).length);
        }
        // One body always fits into an empty budget.
        expect(set.large <= BYTES || inFlight.filter(({ delivery }) => delivery.body === null).length === 1).toBe(true);
      };
      for (const { do: what, index, count } of steps) {
        const endpoint = endpoints[index] as Endpoint;
        if (what === "hand") hand(endpoint, count);
        if (what === "store") store(endpoint, count);
        if (what === "large") hand(endpoint, count, 20 + 20 * index);
        if (what === "hand" || what === "store" || what === "large") asked += count;
        if (what === "end") end(index);
        if (what === "slow") slow(index);
        if (what === "stop") set.mayBegin = false;
        if (what === "go") {
          set.mayBegin = true;
          for (const each of endpoints) producer.offer(each);
        }
        if (what === "turn") await turn();
        check();
      }
      set.mayBegin = true;
      for (const each of endpoints) producer.offer(each);
      for (let round = 0; round < 2 * asked + 10 && begun.length < asked; round++) {
        await turn();
        check();
        end(0);
      }
      expect([begun.length, [...stored.values()].reduce((sum, each) => sum + each, 0)]).toEqual([asked, 0]);
    }),
    { numRuns: 500 },
  );
});

test("organizations share free permits evenly, whatever their numbers of endpoints and deliveries", async () => {
  const { endpoints, begun, hand, end, turn } = world();
  // Two organizations with four and three busy endpoints, and one with one.
  for (const endpoint of endpoints.filter((_, index) => index % 3 !== 2)) hand(endpoint, 100);
  const [, , alone] = endpoints as [Endpoint, Endpoint, Endpoint];
  hand(alone, 100);
  for (let round = 0; round < 60; round++) {
    await turn();
    end(0);
  }
  const of = (organization: number) =>
    begun.filter(({ organizationId }) => organizationId === `organization ${organization}`);
  for (const organization of [0, 1, 2]) expect(of(organization).length).toBeGreaterThan(begun.length / 3 - 6);
});

test("an endpoint whose rows are in PostgreSQL is read once for all of its free places", async () => {
  const { endpoints, inFlight, store, reads, turn } = world();
  store(endpoints[0] as Endpoint, 50);
  await turn();
  await turn();
  expect([inFlight.length, reads()]).toEqual([CONCURRENCY, 1]);
});

test("permits that were reserved for rows which are not there are free again", async () => {
  const { endpoints, inFlight, store, hand, end, turn } = world();
  for (let round = 0; round < 20; round++) {
    for (const endpoint of endpoints) store(endpoint, 1);
    await turn();
    await turn();
    while (inFlight.length > 0) end(0);
  }
  for (const endpoint of endpoints) hand(endpoint, CONCURRENCY);
  await turn();
  expect(inFlight.length).toBe(IN_FLIGHT);
});
