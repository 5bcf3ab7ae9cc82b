import { randomUUID } from "node:crypto";
import { Prisma } from "@herald/common/database/generated/client";
import { shardOf } from "@herald/common/database/shards";
import { insertDelivery, insertEndpoint, ROW_TIME } from "@herald/dev/harness/rows";
import { useDatabase, whileLocked } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import { describeDeliveries } from "../src/sql/describe-deliveries.ts";
import { writeQuarantine, writeRates } from "../src/sql/endpoint-health.ts";
import { heartbeat, releaseShards } from "../src/sql/heartbeat.ts";
import { BEGINNING, markInterrupted, readDue } from "../src/sql/read-due.ts";

const db = useDatabase();

/** An endpoint with a delivery that is due. */
async function insertDue() {
  const endpoint = await insertEndpoint(db.database.prisma);
  const { id } = await insertDelivery(db.database.prisma, endpoint, { due: { dueAt: ROW_TIME } });
  return { endpointId: endpoint.id, id };
}

/** What a statement of a dispatcher does with a row that another session holds, and with another row; first those of the first. */
interface Case {
  /** The row of the first. */
  lock: (ids: { endpointId: string; id: string }) => Prisma.Sql;
  run: (endpointIds: string[]) => Promise<unknown>;
  /** Whether an endpoint's row was changed. */
  isDone: (ids: { endpointId: string; id: string }) => Promise<boolean>;
}

const { sql } = Prisma;
const HOUR = new Date(ROW_TIME.getTime() - (ROW_TIME.getTime() % 3_600_000));
const owner = randomUUID();
const interruptionsOf = async (deliveryId: string) =>
  (await db.database.prisma.due.findFirst({ where: { deliveryId } }))?.interruptions;

const mark = (endpointIds: string[]) =>
  markInterrupted(db.database.queries, endpointIds, { perEndpoint: 10, now: ROW_TIME });
const addToHours = (endpointIds: string[]) =>
  writeRates(
    db.database.queries,
    endpointIds.map((endpointId) => ({ endpointId, hour: HOUR, succeeded: 1, failed: 0, durations: [1] })),
  );

const CASES: Record<string, Case> = {
  "marking interruptions, and a delivery": {
    lock: ({ id }) => sql`select 1 from delivery where id = ${id}::uuid for update`,
    run: mark,
    isDone: async ({ id }) => (await interruptionsOf(id)) === 1,
  },
  "marking interruptions, and a row of due": {
    lock: ({ id }) => sql`select 1 from due where delivery_id = ${id}::uuid for update`,
    run: mark,
    isDone: async ({ id }) => (await interruptionsOf(id)) === 1,
  },
  "forgetting a delivery that has ended, and its row of due": {
    lock: ({ id }) => sql`select 1 from due where delivery_id = ${id}::uuid for update`,
    async run(endpointIds) {
      const { prisma, queries } = db.database;
      await prisma.delivery.updateMany({ where: { endpointId: { in: endpointIds } }, data: { state: "succeeded" } });
      const demand = (endpointId: string) => ({
        ...{ endpointId, shard: shardOf(endpointId), epoch: 0, count: 10, after: BEGINNING },
      });
      expect(await describeDeliveries(queries, await readDue(queries, endpointIds.map(demand)))).toEqual([]);
    },
    isDone: async ({ id }) => (await interruptionsOf(id)) === undefined,
  },
  "adding to hours, and an hour": {
    lock: ({ endpointId }) => sql`select 1 from endpoint_hour where endpoint_id = ${endpointId}::uuid for update`,
    async run(endpointIds) {
      const left = await addToHours(endpointIds);
      expect(left.map(({ endpointId }) => endpointId)).toEqual(endpointIds.slice(0, 1));
    },
    isDone: async ({ endpointId }) => {
      const where = { endpointId_hour: { endpointId, hour: HOUR } };
      return (await db.database.prisma.endpointHour.findUniqueOrThrow({ where })).succeeded === 2;
    },
  },
  "writing a quarantine, and an endpoint": {
    lock: ({ endpointId }) => sql`select 1 from webhook_endpoint where id = ${endpointId}::uuid for update`,
    run: (endpointIds) => writeQuarantine(db.database.queries, endpointIds, ROW_TIME),
    isDone: async ({ endpointId: id }) =>
      (await db.database.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } })).quarantinedAt !== null,
  },
  "releasing shards, and a shard": {
    lock: ({ endpointId }) => sql`select 1 from shard where id = ${shardOf(endpointId)}::smallint for update`,
    run: (endpointIds) => releaseShards(db.database.queries, owner, endpointIds.map(shardOf)),
    isDone: async ({ endpointId }) =>
      (await db.database.prisma.shard.findUniqueOrThrow({ where: { id: shardOf(endpointId) } })).owner === null,
  },
};

test.each(Object.entries(CASES))(
  "a statement of a dispatcher waits for no row that another session has locked, and leaves it for later: %s",
  async (_name, { lock, run, isDone }) => {
    const { prisma, queries } = db.database;
    const locked = await insertDue();
    let free = await insertDue();
    while (shardOf(free.endpointId) === shardOf(locked.endpointId)) free = await insertDue();
    const endpointIds = [locked, free].map(({ endpointId }) => endpointId);
    await addToHours(endpointIds);
    const alive = { aliveMs: 60_000, able: true, outageSince: null, newOwnerMs: 0, wanting: true, place: null };
    await heartbeat(queries, { id: owner, ...alive });
    await prisma.shard.updateMany({ data: { epoch: 0 } });
    await whileLocked(prisma, lock(locked), async () => {
      await run(endpointIds);
      expect([await isDone(locked), await isDone(free)]).toEqual([false, true]);
    });
  },
);
