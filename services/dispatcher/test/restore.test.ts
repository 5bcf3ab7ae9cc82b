import { randomUUID } from "node:crypto";
import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { insertDelivery, insertEndpoint, ROW_TIME } from "@herald/dev/harness/rows";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { freePort } from "@herald/dev/stack/ports";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { claim } from "../src/sql/claim.ts";
import { claimInterrupted } from "../src/sql/claim-interrupted.ts";
import { claimManual } from "../src/sql/claim-manual.ts";
import { useDispatchers } from "./dispatchers.ts";

const db = useDatabase();
const rabbitmq = useBroker();
// Before the hooks of this file, so that dispatchers have stopped when the receiver ends.
const dispatchers = useDispatchers(db, rabbitmq);
let receiver: HttpsReceiver;

beforeEach(async () => {
  receiver = await httpsReceiver();
});
afterEach(async () => {
  await receiver.close();
  await end();
  await db.database.prisma.due.deleteMany();
});

/** As `herald restore begin` and `herald restore end`. */
async function begin(): Promise<void> {
  const now = new Date();
  await db.database.prisma.restore.create({ data: { restoredTo: now, begunAt: now } });
}
async function end(): Promise<void> {
  await db.database.prisma.restore.deleteMany();
}

/** What operators see: whether the dispatcher is ready, and the metric. */
async function seenAt(port: number): Promise<{ status: number; restore: boolean; held: string | undefined }> {
  const origin = `http://127.0.0.1:${port}`;
  const [readiness, metrics] = await Promise.all([fetch(`${origin}/readyz`), fetch(`${origin}/metrics`)]);
  const { restore } = (await readiness.json()) as { restore: boolean };
  return {
    status: readiness.status,
    restore,
    held: /^herald_attempts_held\S* (\d)$/m.exec(await metrics.text())?.[1],
  };
}

test("a dispatcher that starts during a restore attempts nothing, says so, and goes on when the restore ends", async () => {
  await begin();
  const endpoint = await dispatchers.insertEndpointAt(`${receiver.url}/`);
  await dispatchers.insertDeliveries(endpoint, 3);
  const port = await freePort();
  await dispatchers.start({ OPERATIONS_PORT: String(port) }, { sweepIntervalMs: 50 });
  await eventually(async () => expect(await seenAt(port)).toEqual({ status: 503, restore: false, held: "1" }));
  // A fixed wait, to show an absence: due scans come and go meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(receiver.requests).toEqual([]);
  expect(await db.database.prisma.due.count({ where: { claimId: null, interruptions: 0 } })).toBe(3);

  await end();
  await receiver.received(3);
  await eventually(async () => expect(await seenAt(port)).toEqual({ status: 200, restore: true, held: "0" }));
});

test("a dispatcher that runs when a restore begins attempts nothing from its next beat on", async () => {
  const port = await freePort();
  await dispatchers.start({ OPERATIONS_PORT: String(port) }, { sweepIntervalMs: 50 });
  await begin();
  await eventually(async () => expect(await seenAt(port)).toMatchObject({ held: "1" }));
  const endpoint = await dispatchers.insertEndpointAt(`${receiver.url}/`);
  await dispatchers.insertDeliveries(endpoint, 1);
  // A fixed wait, to show an absence.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(receiver.requests).toEqual([]);
});

test("no claim takes anything during a restore, also where its dispatcher has not heard of it", async () => {
  const { prisma, queries } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const { id: manual } = await insertDelivery(prisma, endpoint);
  await insertDelivery(prisma, endpoint, { due: { claimId: randomUUID(), interruptions: 1 } });
  const now = new Date(ROW_TIME.getTime() + 10_000);
  const own = () => ({ claimId: randomUUID(), now, leasedUntil: new Date(now.getTime() + 60_000) });
  const since = new Date(0);
  const claimAll = async () => [
    ...(await claim(queries, [{ endpointId: endpoint.id, count: 1, since }], own())),
    await claimInterrupted(queries, { endpointId: endpoint.id, since }, own()),
    await claimManual(queries, manual, own()),
  ];
  await begin();
  expect(await claimAll()).toEqual([undefined, undefined]);
  expect(await prisma.due.count({ where: { dueAt: { lt: now } } })).toBe(2);
  await end();
  // The first claim took the manual one.
  expect(await claimAll()).toMatchObject([{ deliveryId: manual }, { interruptions: 2 }, undefined]);
});
