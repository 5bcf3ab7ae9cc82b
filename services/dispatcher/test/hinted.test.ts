import { randomUUID } from "node:crypto";
import type { HintedDelivery } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { idAt, insertDelivery, insertEndpoint, ROW_TIME } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useDatabase } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import { createHinted } from "../src/lanes/hinted.ts";
import type { ClaimedDelivery } from "../src/sql/claimed-delivery.ts";

const db = useDatabase();
const NOW = new Date(ROW_TIME.getTime() + 10_000);
const LEASE_MS = 60_000;
const log = { debug() {}, info() {}, warn() {}, error() {}, isDebug: false };

function later(milliseconds: number): Date {
  return new Date(NOW.getTime() + milliseconds);
}

function createOne() {
  const clock = steeredClock(NOW);
  const parts = { queries: db.database.queries, clock, log, signal: new AbortController().signal };
  return { clock, hinted: createHinted(parts, { leaseMs: LEASE_MS }) };
}

/** A delivery that is leased to its hint, with that hint. */
async function leased() {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma, { revision: 3n });
  const id = idAt(ROW_TIME);
  await insertDelivery(prisma, endpoint, { id, due: { dueAt: later(1_500), claimId: id } });
  const delivery: HintedDelivery = {
    deliveryId: id,
    eventType: "RiskCreated",
    body: "{}",
    traceparent: null,
    revision: "3",
    createdAtUtc: NOW.toISOString(),
    leasedUntilUtc: later(1_500).toISOString(),
  };
  const { id: endpointId, organizationId } = endpoint;
  const configured = { endpointId, revision: 3n, url: "https://a.test/", sealedSecret: "sealed" };
  return { delivery, endpoint: { endpointId, organizationId }, claimed: configured as ClaimedDelivery };
}

const dueOf = (deliveryId: string) => db.database.prisma.due.findUnique({ where: { deliveryId } });

test("a hinted delivery needs no claim where its endpoint is known in that revision, from a claim before it", async () => {
  const { hinted } = createOne();
  const { delivery, endpoint, claimed } = await leased();
  expect(hinted.read(endpoint, delivery)).toBeUndefined();
  hinted.learn([claimed]);
  expect(hinted.read(endpoint, delivery)).toEqual({
    deliveryId: delivery.deliveryId,
    ...endpoint,
    eventType: "RiskCreated",
    attempt: 1,
    interruptions: 0,
    quarantined: false,
    body: "{}",
    bodyBytes: 2,
    eventKey: null,
    failures: 0,
    pausedUntil: null,
    url: "https://a.test/",
    sealedSecret: "sealed",
    configuredAt: NOW,
    revision: 3n,
    traceparent: null,
    createdAt: NOW,
    claimId: delivery.deliveryId,
    leasedUntil: later(LEASE_MS),
  });
  expect(hinted.read(endpoint, { ...delivery, revision: "4" })).toBeUndefined();
});

test("a hint that comes late leaves its delivery to a claim", async () => {
  const { clock, hinted } = createOne();
  const { delivery, endpoint, claimed } = await leased();
  hinted.learn([claimed]);
  clock.advance(500);
  expect(hinted.read(endpoint, delivery)).toBeDefined();
  clock.advance(1);
  expect(hinted.read(endpoint, delivery)).toBeUndefined();
});

test("a hinted delivery that was not attempted is due at once, unless somebody has claimed it", async () => {
  const { prisma } = db.database;
  const { hinted } = createOne();
  const [free, taken] = [(await leased()).delivery.deliveryId, (await leased()).delivery.deliveryId];
  const claimId = randomUUID();
  await prisma.due.update({ where: { deliveryId: taken }, data: { claimId } });
  await Promise.all([hinted.giveBack(free), hinted.giveBack(taken)]);
  expect(await dueOf(free)).toMatchObject({ dueAt: NOW, claimId: null });
  expect(await dueOf(taken)).toMatchObject({ dueAt: later(1_500), claimId });
});

test("the lease of a hinted delivery lasts as long as its attempt, and a quick attempt leaves it alone", async () => {
  const { hinted } = createOne();
  const [quick, slow] = [await leased(), await leased()];
  const attempted = ({ delivery }: typeof slow) =>
    ({ deliveryId: delivery.deliveryId, claimId: delivery.deliveryId }) as ClaimedDelivery;
  await hinted.held(async () => {})(attempted(quick));
  let end = () => {};
  const attempting = hinted.held(
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
  )(attempted(slow));
  await eventually(async () => expect(await dueOf(slow.delivery.deliveryId)).toMatchObject({ dueAt: later(LEASE_MS) }));
  end();
  await attempting;
  expect(await dueOf(slow.delivery.deliveryId)).toMatchObject({ claimId: slow.delivery.deliveryId });
  expect(await dueOf(quick.delivery.deliveryId)).toMatchObject({ dueAt: later(1_500) });
});
