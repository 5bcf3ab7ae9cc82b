import { randomUUID } from "node:crypto";
import { insertDelivery, insertEndpoint, ROW_TIME } from "@herald/testkit/harness/rows";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { claim } from "../src/sql/claim.ts";
import { claimInterrupted } from "../src/sql/claim-interrupted.ts";
import type { ClaimedDelivery } from "../src/sql/claimed-delivery.ts";
import { type Settlement, settle } from "../src/sql/settle.ts";
import { DISABLE_AFTER, type Endpoint, settlement, settling } from "./settling.ts";

const db = useDatabase();
const { settleAll } = settling(db);

const LEASE_MS = 60_000;
const RETRY_MS = 30_000;
const MAX_ATTEMPTS = 3;
const DELIVERIES = 2;

type Step =
  | { do: "claim"; count: number }
  | { do: "claimInterrupted" }
  | { do: "advance"; ms: number }
  | { do: "settle"; ends: { which: number; succeeded: boolean }[] }
  | { do: "repeat"; which: number }
  | { do: "enable"; enabled: boolean };

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("claim" as const), count: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("claimInterrupted" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("advance" as const),
      ms: fc.constantFrom(1_000, RETRY_MS, LEASE_MS, LEASE_MS),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("settle" as const),
      ends: fc.array(fc.record({ which: fc.nat(9), succeeded: fc.nat(3).map((number) => number === 0) }), {
        minLength: 1,
        maxLength: 4,
      }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("repeat" as const), which: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("enable" as const), enabled: fc.boolean() }) },
);

/** What a delivery is, by the rules alone. */
interface ModelDelivery {
  state: "pending" | "succeeded" | "exhausted";
  attemptCount: number;
  dueAt: number;
  claimId: string | null;
  interruptions: number;
}

/** A small Herald: SPEC 3 in plain words, without tables. */
function model(ids: readonly string[]) {
  const deliveries = new Map<string, ModelDelivery>(
    ids.map((id) => [
      id,
      { state: "pending", attemptCount: 0, dueAt: ROW_TIME.getTime(), claimId: null, interruptions: 0 },
    ]),
  );
  const endpoint = { enabled: true, revision: 1n, run: [] as string[] };

  function end({ deliveryId, claimId, attempt, succeeded, revision, nextAttemptAt }: Settlement): void {
    const delivery = deliveries.get(deliveryId) as ModelDelivery;
    if (!succeeded && delivery.claimId !== claimId) return;
    if (delivery.state !== "succeeded") {
      delivery.attemptCount++;
      delivery.state = succeeded ? "succeeded" : nextAttemptAt ? "pending" : "exhausted";
      delivery.claimId = null;
      delivery.dueAt = succeeded || !nextAttemptAt ? Number.POSITIVE_INFINITY : nextAttemptAt.getTime();
    }
    if (!endpoint.enabled || endpoint.revision !== revision) return;
    endpoint.run = succeeded ? [] : [...endpoint.run, `${deliveryId}/${attempt}`];
    if (endpoint.run.length < DISABLE_AFTER) return;
    endpoint.enabled = false;
    endpoint.revision++;
  }
  return { deliveries, endpoint, end };
}

test("§3.1 §3.2 whatever happens to deliveries, in whatever order, they and their endpoint are what a small model says (property)", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 30 }), async (history) => {
      const endpoint = await insertEndpoint(db.database.prisma);
      const ids: string[] = [];
      while (ids.length < DELIVERIES) ids.push((await insertDelivery(db.database.prisma, endpoint)).id);
      await run(history, endpoint, ids);
    }),
    { numRuns: 100 },
  );
});

async function run(history: readonly Step[], endpoint: Endpoint, ids: readonly string[]): Promise<void> {
  const { prisma, queries } = db.database;
  const expected = model(ids);
  let now = ROW_TIME.getTime();
  const underWay: ClaimedDelivery[] = [];
  const settled: Settlement[] = [];
  const newClaim = () => ({ claimId: randomUUID(), now: new Date(now), leasedUntil: new Date(now + LEASE_MS) });
  const dueWhere = (condition: (delivery: ModelDelivery) => boolean) =>
    [...expected.deliveries.values()].filter((each) => each.dueAt <= now && condition(each));

  function took(claimed: ClaimedDelivery, eligible: ModelDelivery[]): void {
    const delivery = expected.deliveries.get(claimed.deliveryId) as ModelDelivery;
    expect(eligible).toContain(delivery);
    delivery.interruptions += Number(delivery.claimId !== null);
    delivery.dueAt = now + LEASE_MS;
    delivery.claimId = claimed.claimId;
    const { attemptCount, interruptions } = delivery;
    expect(claimed).toMatchObject({ attempt: attemptCount + 1, interruptions, revision: expected.endpoint.revision });
    underWay.push(claimed);
  }

  for (const step of history) {
    switch (step.do) {
      case "advance":
        now += step.ms;
        break;
      case "enable":
        if (expected.endpoint.enabled === step.enabled) break;
        Object.assign(expected.endpoint, { enabled: step.enabled, revision: expected.endpoint.revision + 1n, run: [] });
        await prisma.webhookEndpoint.update({
          where: { id: endpoint.id },
          data: { enabled: step.enabled, revision: { increment: 1 }, failureRun: [], consecutiveFailures: 0 },
        });
        break;
      case "claim": {
        const eligible = expected.endpoint.enabled ? dueWhere((each) => each.claimId === null) : [];
        const demand = { endpointId: endpoint.id, count: step.count, since: new Date(0) };
        const claimed = await claim(queries, [demand], newClaim());
        expect(claimed).toHaveLength(Math.min(step.count, eligible.length));
        for (const each of claimed) took(each, eligible);
        break;
      }
      case "claimInterrupted": {
        const eligible = expected.endpoint.enabled ? dueWhere((each) => each.claimId !== null) : [];
        const claimed = await claimInterrupted(queries, { endpointId: endpoint.id, since: new Date(0) }, newClaim());
        expect(claimed !== undefined).toBe(eligible.length > 0);
        if (claimed) took(claimed, eligible);
        break;
      }
      case "settle": {
        // Also those whose lease ran out, and that were claimed again meanwhile.
        const ended: Settlement[] = [];
        for (const { which, succeeded } of step.ends) {
          const [claimed] = underWay.splice(which % Math.max(1, underWay.length), 1);
          if (!claimed) continue;
          now += 1;
          const last = claimed.attempt === MAX_ATTEMPTS;
          const nextAttemptAt = succeeded || last ? null : new Date(now + RETRY_MS);
          const { deliveryId, claimId, attempt, revision } = claimed;
          const startedAt = new Date(now);
          const override = { succeeded, nextAttemptAt, revision, startedAt };
          ended.push(settlement(endpoint, { deliveryId, claimId, attempt }, override));
        }
        // A success wins over a failure of the same delivery in the same batch.
        const won = new Set(ended.filter((each) => each.succeeded).map((each) => each.deliveryId));
        for (const each of ended) if (each.succeeded || !won.has(each.deliveryId)) expected.end(each);
        await settleAll(ended);
        settled.push(...ended);
        break;
      }
      case "repeat": {
        const again = settled[step.which % Math.max(1, settled.length)];
        if (again) await settle(queries, [again]);
        break;
      }
    }
  }
  await expectSame(expected, endpoint, ids);
}

async function expectSame(
  expected: ReturnType<typeof model>,
  endpoint: Endpoint,
  ids: readonly string[],
): Promise<void> {
  const { prisma } = db.database;
  for (const id of ids) {
    const delivery = expected.deliveries.get(id) as ModelDelivery;
    const { state, attemptCount } = await prisma.delivery.findUniqueOrThrow({ where: { id } });
    expect({ state, attemptCount }).toEqual({ state: delivery.state, attemptCount: delivery.attemptCount });
    const due = await prisma.due.findUnique({ where: { deliveryId: id } });
    const { claimId, interruptions } = delivery;
    if (delivery.state !== "pending") expect(due).toBeNull();
    else {
      const dueAt = new Date(delivery.dueAt);
      expect(due).toMatchObject({ dueAt, claimId, interruptions, attempts: delivery.attemptCount });
    }
    const attempts = await prisma.$queryRaw<{ number: number }[]>`
      select number from attempt where delivery_id = ${id}::uuid order by number`;
    expect(attempts.map(({ number }) => number)).toEqual(Array.from({ length: attemptCount }, (_, index) => index + 1));
  }
  const { enabled, revision, failureRun } = await prisma.webhookEndpoint.findUniqueOrThrow({
    where: { id: endpoint.id },
  });
  expect({ enabled, revision, run: failureRun }).toEqual(expected.endpoint);
}
