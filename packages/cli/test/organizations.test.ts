import { randomUUID } from "node:crypto";
import { serviceSettings } from "@herald/common/config/common-settings";
import { idAt, insertDelivery, insertEndpoint, insertEvent, insertResend, ROW_TIME } from "@herald/dev/harness/rows";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import { eraseOrganization } from "../src/organizations-command.ts";
import { runHerald } from "./run-herald.ts";

const db = useDatabase();

/** The tables with a column, as PostgreSQL's catalogue has them: so a new table is in this test from its first day. */
async function tablesWith(column: "organization_id" | "endpoint_id" | "delivery_id"): Promise<string[]> {
  const rows = await db.database.prisma.$queryRawUnsafe<{ name: string }[]>(
    `select relname as name from pg_class join pg_attribute on attrelid = pg_class.oid
     where relnamespace = to_regnamespace('public') and relkind in ('r', 'p') and not relispartition and attname = '${column}'
     order by 1`,
  );
  return rows.map(({ name }) => name);
}

type Counts = Record<string, number>;

/** How many rows each table has of an organization, of its endpoints or of their deliveries. */
async function rowsOf({ organizationId, endpointIds, deliveryIds }: Organization): Promise<Counts> {
  const counts: Counts = {};
  const columns = { organization_id: [organizationId], endpoint_id: endpointIds, delivery_id: deliveryIds } as const;
  for (const [column, values] of Object.entries(columns)) {
    for (const table of await tablesWith(column as keyof typeof columns)) {
      const [row] = await db.database.prisma.$queryRawUnsafe<{ count: number }[]>(
        `select count(*)::int from "${table}" where ${column}::text = any ($1)`,
        values,
      );
      counts[`${table}.${column}`] = row?.count ?? 0;
    }
  }
  return counts;
}

interface Organization {
  organizationId: string;
  endpointIds: string[];
  deliveryIds: string[];
}

/** An organization with rows in each table that can have some of it. */
async function organizationWithHistory(): Promise<Organization> {
  const { prisma } = db.database;
  const organizationId = `organization ${randomUUID()}`;
  const endpointIds: string[] = [];
  const deliveryIds: string[] = [];
  for (const name of ["one", "two"]) {
    const endpoint = await insertEndpoint(prisma, { organizationId, name });
    const endpointId = endpoint.id;
    endpointIds.push(endpointId);
    const { key: eventKey } = await insertEvent(prisma, organizationId);
    for (const more of [{ eventKey }, { eventKey: null }, { eventKey: null, state: "exhausted" as const }]) {
      const { id } = await insertDelivery(prisma, endpoint, more);
      deliveryIds.push(id);
      await prisma.deliveryAttempt.create({
        data: { deliveryId: id, number: 1, startedAt: ROW_TIME, durationMs: 1, statusCode: 500 },
      });
    }
    await insertResend(prisma, endpoint);
    const named = { endpointId, organizationId, endpointName: name };
    const ofEndpoint = { ...named, endpointUrl: "https://receiver.test" };
    await prisma.endpointChange.create({
      data: { ...named, id: idAt(ROW_TIME), revision: 1n, changedAt: ROW_TIME, changedBy: "admin" },
    });
    await prisma.catchUp.create({ data: { endpointId, dueAt: ROW_TIME } });
    await prisma.notice.create({
      data: { ...ofEndpoint, type: "failing", failureRun: [], occurredAt: ROW_TIME, publishAt: ROW_TIME },
    });
    await prisma.exhaustion.create({
      data: { ...ofEndpoint, state: "exhausted", deliveries: 1, firstAt: ROW_TIME, lastAt: ROW_TIME },
    });
    await prisma.digest.create({ data: { endpointId, state: "exhausted", madeAt: ROW_TIME } });
    await prisma.endpointHour.create({ data: { endpointId, hour: ROW_TIME, succeeded: 1, failed: 1, durations: [] } });
  }
  await prisma.idempotencyKey.create({
    data: {
      organizationId,
      key: "k",
      requestHash: Buffer.from("h"),
      targetId: randomUUID(),
      lockedUntil: ROW_TIME,
      createdAt: ROW_TIME,
    },
  });
  await prisma.undeliveredEvent.create({
    data: { eventId: randomUUID(), organizationId, cause: "rejected", reason: "r", cameAt: ROW_TIME },
  });
  return { organizationId, endpointIds, deliveryIds };
}

/** The rows that stay: a publisher looks once more for deliveries of each deleted endpoint, and then removes the row. */
const LAST_LOOK = "erasure.endpoint_id";

let leaving: Organization;
let staying: Organization;
beforeEach(async () => {
  leaving = await organizationWithHistory();
  staying = await organizationWithHistory();
});

const run = (...args: string[]) => runHerald(["organizations", "erase", ...args], { DATABASE_URL: db.url });

test("herald organizations erase counts, and with --apply leaves nothing of the organization in any table, and all of others", async () => {
  const before = await rowsOf(leaving);
  // Without rows in a table the test would say nothing about it.
  expect(Object.entries(before).filter(([name, count]) => count === 0 && name !== LAST_LOOK)).toEqual([]);
  const others = await rowsOf(staying);

  const counted = await run(leaving.organizationId);
  expect(counted).toMatchObject({ code: 0, stderr: expect.stringContaining("--apply") });
  expect(counted.stdout).toMatch(/^delivery +6$/m);
  expect(counted.audit).toBeUndefined();
  expect(await rowsOf(leaving)).toEqual(before);

  const erased = await run(leaving.organizationId, "--apply", "--page-size", "2");
  expect(erased).toMatchObject({ code: 0, stdout: expect.stringMatching(/^delivery +6$/m) });
  expect(erased.audit).toMatchObject({
    action: "organizations erase",
    what: [leaving.organizationId, "--apply", "--page-size", "2"],
    result: "done",
    details: { webhook_endpoint: 2, delivery: 6, business_event: 2, endpoint_change: 2 },
  });
  expect(Object.entries(await rowsOf(leaving)).filter(([, count]) => count > 0)).toEqual([[LAST_LOOK, 2]]);
  expect(await rowsOf(staying)).toEqual(others);
  expect((await run(leaving.organizationId)).stdout).not.toMatch(/ [1-9]\d*$/m);
});

test("the last look at an erased organization's endpoints is after the end of the longest statement that any process may run", async () => {
  const now = db.database.clock.now().getTime();
  await run(leaving.organizationId, "--apply");
  const looks = await db.database.prisma.erasure.findMany({ where: { endpointId: { in: leaving.endpointIds } } });
  expect(looks).toHaveLength(2);
  const longestMs = serviceSettings.DATABASE_TIMEOUT_SECONDS.maximum * 1_000;
  for (const { dueAt, until } of looks) {
    expect(until.getTime()).toBeGreaterThan(now + longestMs);
    expect(dueAt).toEqual(until);
  }
});

test("an erasure that was interrupted after any page is finished by the next run", async () => {
  const { database } = db;
  const options = { organizationId: leaving.organizationId, pageSize: 1 };
  const erase = (onPage?: () => void) => eraseOrganization(database.queries, database.clock, options, onPage);
  for (let mostPages = 1, isOver = false; !isOver; mostPages++) {
    let pages = 0;
    await erase(() => {
      if (++pages === mostPages) throw new Error("cut off");
    }).then(
      () => {
        isOver = true;
      },
      (error) => expect(error).toMatchObject({ message: "cut off" }),
    );
  }
  expect(Object.entries(await rowsOf(leaving)).filter(([, count]) => count > 0)).toEqual([[LAST_LOOK, 2]]);
});

test("an erasure takes one organization's id", async () => {
  expect(await run()).toMatchObject({ code: 2, stderr: expect.stringContaining("the id of one organization") });
});
