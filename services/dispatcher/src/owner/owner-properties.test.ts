import { shardOf } from "@herald/common/database/shards";
import type { HandOver } from "@herald/contracts";
import { expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import {
  type Ending,
  endpointId,
  LARGE_BYTES,
  OPTIONS,
  organizationOf,
  useVirtualTime,
  world,
} from "../../test/support/virtual-owner.ts";

useVirtualTime();

const STEPS = ["edit", "hand over", "hand over late", "work", "changed", "sweep", "outage", "pass"];

/** After these a sweep finds rows: those of lost messages, and those behind which the owner has read on before they were stored or left. */
const SWEPT: readonly string[] = ["arrive", "lose the message", "lose the shard"];

const stepsOf = (...names: readonly string[]) =>
  fc.array(fc.record({ do: fc.constantFrom(...names), endpoint: fc.nat(4), count: fc.nat(12), ms: fc.nat(60) }), {
    maxLength: 30,
  });
const someSteps = fc.oneof(stepsOf(...STEPS, ...SWEPT, "arrive"), stepsOf(...STEPS));

const ENDINGS: Ending[] = ["succeeded", "succeeded", "failed", "put back"];

const endingsOf = (...names: Ending[]) => fc.array(fc.constantFrom(...names), { minLength: 1 });

const endings = fc.oneof(endingsOf(...ENDINGS), endingsOf(...ENDINGS, "not stored"));

// In a small memory, most of what is handed over is left to PostgreSQL.
const memories = fc.constantFrom(10, OPTIONS.bounds.bodiesBytes);

test("regression: a delivery that is handed over in time is not read from PostgreSQL, whatever sweeps find", async () => {
  const steps = stepsOf("hand over", "arrive", "lose the message", "sweep", "pass");
  await fc.assert(
    fc.asyncProperty(steps, fc.nat(40), async (all, readMs) => {
      jest.useFakeTimers({ now: 0 });
      const { owner, store, arrive, sweep, pass, set, rows, read } = world({ tookMs: () => 2 });
      set.readMs = readMs;
      // What arrives for an endpoint that its owner does not know is stored first, and read then.
      for (const { endpoint } of all) owner.handedOver(store(endpointId(endpoint)));
      await pass(20);
      let unsaid = 0;
      for (const { do: what, endpoint, count, ms } of all) {
        const id = endpointId(endpoint);
        if (what === "arrive") arrive(id, count, ms);
        if (what === "hand over") owner.handedOver(store(id, count));
        if (what === "sweep") sweep();
        // Another endpoint has a backlog.
        if (what === "lose the message") unsaid += store(endpointId(5), count).deliveries.length;
        await pass(what === "pass" ? ms : 1);
      }
      // All events that arrived are stored by then, and all attempts have ended.
      await pass(1_500, { sweepEveryMs: 50 });
      expect(rows.size).toBe(0);
      expect(read()).toBeLessThanOrEqual(unsaid);
      await owner.idle();
    }),
    { numRuns: 200 },
  );
}, 240_000);

test("no attempt is made twice, no bound is exceeded, and no delivery is left out, in whatever order steps come", async () => {
  await fc.assert(
    fc.asyncProperty(someSteps, endings, fc.nat(40), memories, async (steps, ends, readMs, bodiesBytes) => {
      jest.useFakeTimers({ now: 0 });
      let [begun, ended] = [0, 0];
      const all = world({
        tookMs: () => (++begun % 16 === 7 ? 1_200 : 1 + (begun % 50)),
        options: { bounds: { ...OPTIONS.bounds, bodiesBytes } },
      });
      const { owner, store, arrive, edit, sweep, pass, rows, made, most, lost, set, inFlight, emitted, statements } =
        all;
      set.readMs = readMs;
      set.ending = () => ends[ended++ % ends.length] ?? "succeeded";
      const late: HandOver[] = [];
      for (const { do: what, endpoint, count, ms } of steps) {
        const id = endpointId(endpoint);
        const target = { endpointId: id, organizationId: organizationOf(id) };
        if (what === "arrive") arrive(id, count, 2 * ms);
        if (what === "edit") edit();
        if (what === "hand over") owner.handedOver(store(id, count));
        if (what === "hand over late") late.push(store(id, count));
        if (what === "lose the message") store(id, count);
        if (what === "work") {
          store(id, count);
          owner.handedOver({ stored: true, events: [], deliveries: [], work: [target] });
        }
        if (what === "changed") owner.changed({ kind: "changed", ...target });
        if (what === "sweep") sweep();
        if (what === "lose the shard") {
          // As a release does, when nothing of the shard is in flight.
          const shard = shardOf(id);
          lost.add(shard);
          while (owner.inFlightOf(shard) > 0) await pass(1);
          owner.lost([shard]);
          await pass(ms);
          lost.delete(shard);
          sweep();
        }
        if (what === "outage") {
          set.isOutage = true;
          await pass(ms);
          set.isOutage = false;
          owner.wake();
        }
        if (what === "pass") {
          await pass(ms);
          for (const handOver of late.splice(0)) owner.handedOver(handOver);
        }
      }
      set.ending = () => "succeeded";
      // All events that arrived are stored by then.
      await pass(150);
      for (const handOver of late.splice(0)) owner.handedOver(handOver);
      const sweepEveryMs = steps.some(({ do: what }) => SWEPT.includes(what)) || ends.includes("not stored") ? 100 : 0;
      for (let round = 0; round < 40 && rows.size > 0; round++) await pass(500, { sweepEveryMs });
      expect([rows.size, inFlight.size]).toEqual([0, 0]);
      expect(most.twice).toBe(0);
      expect(emitted().attempted).toBe(emitted().all);
      expect([...made.values()].filter((count) => count > 1)).toEqual([]);
      expect(most.endpoint).toBeLessThanOrEqual(OPTIONS.concurrency);
      expect(most.all).toBeLessThanOrEqual(OPTIONS.bounds.inFlight);
      // One body always fits into an empty budget.
      expect(most.largeBytes).toBeLessThanOrEqual(LARGE_BYTES);
      // Nothing is left in memory, or waits for a reading.
      await pass(1_500, { sweepEveryMs });
      const before = statements();
      owner.handedOver(store(endpointId(0), 4));
      await pass(1_400);
      expect([rows.size, statements()]).toEqual([0, before]);
      await owner.idle();
    }),
    { numRuns: 400 },
  );
}, 240_000);
