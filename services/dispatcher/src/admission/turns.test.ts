import { describe, expect, test } from "@jest/globals";
import { createBudget, SLOW_AFTER_MS } from "./budget.ts";
import { endpointSlots } from "./endpoint-slots.ts";
import { createTurns, type Endpoint } from "./turns.ts";

interface Receiver extends Endpoint {
  answersAfterMs: number;
  backlog: number;
  /** When its backlog begins to be there. */
  fromMs: number;
}

const CONCURRENCY = 500;
const MAX_IN_FLIGHT = 2_000;
const CLAIM_TAKES_MS = 2;

/** Receivers of one organization, each with a backlog that does not end. */
function receivers(organizationId: string, count: number, answersAfterMs: number, fromMs = 0): Receiver[] {
  return Array.from({ length: count }, (_, index) => {
    const endpointId = `${organizationId}-${index}`;
    return { endpointId, organizationId, answersAfterMs, fromMs, backlog: Number.POSITIVE_INFINITY };
  });
}

/** A dispatcher in virtual time. Returns what each organization got. */
function simulate(all: readonly Receiver[], forMs: number) {
  const budget = createBudget({ maxInFlight: MAX_IN_FLIGHT });
  const lane = budget.lane(CONCURRENCY);
  const slots = endpointSlots(() => 10);
  const turns = createTurns({ slots, lane, quarantine: { has: () => false } });
  const byId = new Map(all.map((receiver) => [receiver.endpointId, { ...receiver }]));
  const organizations = new Map(
    all.map(({ organizationId }) => [organizationId, { done: 0, held: 0, mostHeld: 0, lastMs: 0, longestGapMs: 0 }]),
  );
  const perEndpoint = new Map(all.map(({ endpointId }) => [endpointId, 0]));
  const agenda = new Map<number, (() => void)[]>();
  let now = 0;
  let claims = 0;
  let inFlight = 0;
  let mostInFlight = 0;

  function after(ms: number, task: () => void): void {
    const tasks = agenda.get(now + ms);
    if (tasks) tasks.push(task);
    else agenda.set(now + ms, [task]);
  }

  function start(receiver: Receiver): void {
    const { endpointId, organizationId } = receiver;
    const place = lane.begin(organizationId);
    const counts = organizations.get(organizationId) ?? never();
    inFlight++;
    counts.held++;
    counts.mostHeld = Math.max(counts.mostHeld, counts.held);
    mostInFlight = Math.max(mostInFlight, inFlight);
    after(SLOW_AFTER_MS, () => place.slow());
    after(receiver.answersAfterMs, () => {
      inFlight--;
      counts.held--;
      counts.done++;
      counts.longestGapMs = Math.max(counts.longestGapMs, now - counts.lastMs);
      counts.lastMs = now;
      perEndpoint.set(endpointId, (perEndpoint.get(endpointId) ?? 0) + 1);
      place.ended();
      slots.release(endpointId);
      turns.released(endpointId);
      place.settled();
    });
  }

  for (const receiver of all) after(receiver.fromMs, () => turns.add(receiver));
  for (; now < forMs; now++) {
    const tasks = agenda.get(now);
    if (!tasks) continue;
    for (const task of tasks) task();
    agenda.delete(now);
    while (claims < 2 && !lane.isFull()) {
      const demands = turns.take();
      if (demands.length === 0) break;
      claims++;
      after(CLAIM_TAKES_MS, () => {
        claims--;
        const claimed = demands.flatMap(({ endpointId, count }) => {
          const receiver = byId.get(endpointId) ?? never();
          const got = Math.min(count, receiver.backlog);
          receiver.backlog -= got;
          return Array.from({ length: got }, () => receiver);
        });
        turns.claimed(demands, claimed);
        for (const receiver of claimed) start(receiver);
      });
    }
  }
  return { of: (organizationId: string) => organizations.get(organizationId) ?? never(), perEndpoint, mostInFlight };
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

function never(): never {
  throw new Error("The simulation does not know it.");
}

describe("turns between organizations", () => {
  const alone = simulate(receivers("quick", 1, 50), 30_000).of("quick").done;

  test.each([0, 10, 49, 60, 100, 200])(
    "a quick endpoint keeps its rate while %d endpoints of another organization answer after 14 s",
    (slow) => {
      const quick = simulate([...receivers("slow", slow, 14_000), ...receivers("quick", 1, 50)], 30_000).of("quick");
      expect(quick.done / alone).toBeGreaterThanOrEqual(0.9);
      expect(quick.longestGapMs).toBeLessThanOrEqual(1_100);
    },
  );

  test.each([3, 10])("a quick endpoint keeps its rate beside %d organizations of 100 slow endpoints each", (count) => {
    const slow = Array.from({ length: count }, (_, index) => receivers(`slow-${index}`, 100, 14_000)).flat();
    const quick = simulate([...slow, ...receivers("quick", 1, 50)], 30_000).of("quick");
    expect(quick.done / alone).toBeGreaterThanOrEqual(0.9);
    expect(quick.longestGapMs).toBeLessThanOrEqual(1_100);
  });

  test("an organization that is alone has every slot, and one that comes later gets its part within the time of a slow attempt", () => {
    const flood = receivers("flood", 100, 900);
    expect(simulate(flood, 5_000).of("flood").mostHeld).toBe(CONCURRENCY);
    const { of } = simulate([...flood, ...receivers("late", 5, 50, 2_500)], 10_000);
    expect(of("late").longestGapMs).toBeLessThanOrEqual(2_500 + SLOW_AFTER_MS);
    expect(of("late").done / (7.5 * 5 * alone) / (1 / 30)).toBeGreaterThanOrEqual(0.8);
  });

  test("while others are there, no organization holds more than a quarter", () => {
    const all = ["a", "b", "c", "d", "e"].flatMap((organizationId) => receivers(organizationId, 100, 500));
    const { of, mostInFlight } = simulate(all, 10_000);
    const done = ["a", "b", "c", "d", "e"].map((organizationId) => {
      expect(of(organizationId).mostHeld).toBeLessThanOrEqual(CONCURRENCY / 4);
      return of(organizationId).done;
    });
    expect(mostInFlight).toBeGreaterThan(CONCURRENCY * 0.75);
    expect(Math.max(...done) / Math.min(...done)).toBeLessThanOrEqual(1.3);
  });

  test("a thousand endpoints of fifty organizations all have their turns, and large organizations get no more than small ones", () => {
    const sizes = Array.from({ length: 50 }, (_, index) => (index < 10 ? 80 : 5));
    const all = sizes.flatMap((size, index) => receivers(`organization-${index}`, size, 200));
    expect(all).toHaveLength(1_000);
    const { of, perEndpoint, mostInFlight } = simulate(all, 6_000);
    expect(mostInFlight).toBeLessThanOrEqual(CONCURRENCY);
    expect(Math.min(...perEndpoint.values())).toBeGreaterThan(0);
    const done = sizes.map((_, index) => of(`organization-${index}`).done);
    expect(Math.max(...done) / Math.min(...done)).toBeLessThanOrEqual(2);
    expect(mean(done.slice(0, 10)) / mean(done.slice(10))).toBeCloseTo(1, 1);
    const ofLarge = [...perEndpoint].filter(([id]) => id.startsWith("organization-0-")).map(([, count]) => count);
    expect(Math.max(...ofLarge) / Math.min(...ofLarge)).toBeLessThanOrEqual(2);
  });
});
