import { randomUUID } from "node:crypto";
import type { Queries } from "@herald/common/database/queries";
import { ROW_TIME } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import { type GivenUp, makeDigests } from "../src/sql/make-digests.ts";

const db = useDatabase();
const HOUR_MS = 60 * 60_000;

let clock = steeredClock(ROW_TIME);

beforeEach(async () => {
  clock = steeredClock(ROW_TIME);
  await db.database.prisma.$executeRaw`truncate notice, exhaustion, digest`;
});

/** As a settlement leaves it. */
async function givenUp(
  endpointId: string,
  deliveries: number,
  at = clock.now(),
  state: GivenUp = "exhausted",
): Promise<void> {
  await db.database.prisma.exhaustion.create({
    data: {
      endpointId,
      state,
      organizationId: "acme",
      endpointName: "Billing",
      endpointUrl: "https://receiver.test/hooks",
      deliveries,
      firstAt: at,
      lastAt: new Date(at.getTime() + 1_000),
    },
  });
}

const digest = (queries: Queries = db.database.queries, limit = 100, state: GivenUp = "exhausted") => {
  const now = clock.now();
  return makeDigests(queries, { state, now, notAfter: new Date(now.getTime() - HOUR_MS), limit });
};

/** Rows of what was given up that a statement reads. */
async function readBy(call: (queries: Queries) => Promise<unknown>): Promise<number> {
  const { queries } = db.database;
  let read = 0;
  const count = (node: PlanNode): void => {
    if (node["Relation Name"] === "exhaustion") read += node["Actual Rows"] * node["Actual Loops"];
    for (const each of node.Plans ?? []) count(each);
  };
  const $executeRaw = async ([begin, ...rest]: TemplateStringsArray, ...values: unknown[]) => {
    const explained = Object.assign([`explain (analyze, format json) ${begin}`, ...rest], { raw: [] });
    const [row] = await queries.$queryRaw<{ "QUERY PLAN": { Plan: PlanNode }[] }[]>(explained, ...values);
    for (const { Plan } of row?.["QUERY PLAN"] ?? []) count(Plan);
    return 0;
  };
  await call({ ...queries, $executeRaw });
  return read;
}

interface PlanNode {
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  Plans?: PlanNode[];
}

/** The deliveries of an endpoint's notices, in the order of these. */
async function toldOf(endpointId: string): Promise<number[]> {
  const notices = await db.database.prisma.notice.findMany({ where: { endpointId }, orderBy: { occurredAt: "asc" } });
  expect(notices.every(({ type }) => type === "exhausted")).toBe(true);
  return notices.map(({ details }) => (details as { deliveries: number }).deliveries);
}

test("an endpoint's first exhausted deliveries are told at once, and those that follow an hour later together", async () => {
  const [endpoint, other] = [randomUUID(), randomUUID()];
  await givenUp(endpoint, 1);
  await digest();
  expect(await toldOf(endpoint)).toEqual([1]);
  for (let minutes = 0; minutes < 59; minutes++) {
    clock.advance(60_000);
    await givenUp(endpoint, 2);
    await digest();
  }
  expect(await toldOf(endpoint)).toEqual([1]);
  await givenUp(other, 3);
  clock.advance(60_000);
  await digest();
  expect(await toldOf(endpoint)).toEqual([1, 118]);
  expect(await toldOf(other)).toEqual([3]);
  expect(await db.database.prisma.exhaustion.count()).toBe(0);
});

test("expired deliveries are told apart from exhausted ones, and neither delays the other", async () => {
  const endpointId = randomUUID();
  await givenUp(endpointId, 2);
  await givenUp(endpointId, 3, clock.now(), "expired");
  expect([await digest(), await digest(undefined, 100, "expired")]).toEqual([1, 1]);
  clock.advance(HOUR_MS);
  await givenUp(endpointId, 4, clock.now(), "expired");
  expect([await digest(), await digest(undefined, 100, "expired")]).toEqual([0, 1]);
  const notices = await db.database.prisma.notice.findMany({ where: { endpointId }, orderBy: { id: "asc" } });
  const told = notices.map(({ type, details }) => [type, (details as { deliveries: number }).deliveries]);
  expect(told).toHaveLength(3);
  expect(told).toEqual(
    expect.arrayContaining([
      ["exhausted", 2],
      ["expired", 3],
      ["expired", 4],
    ]),
  );
});

test("a digest says from when to when, and forgets an endpoint of which an hour long nothing came", async () => {
  const endpoint = randomUUID();
  await givenUp(endpoint, 1, new Date(ROW_TIME.getTime() - 5_000));
  await givenUp(endpoint, 1, new Date(ROW_TIME.getTime() - 60_000));
  await digest();
  const [notice] = await db.database.prisma.notice.findMany();
  expect(notice).toMatchObject({
    organizationId: "acme",
    endpointName: "Billing",
    details: {
      deliveries: 2,
      firstAtUtc: new Date(ROW_TIME.getTime() - 60_000).toISOString(),
      lastAtUtc: new Date(ROW_TIME.getTime() - 4_000).toISOString(),
    },
  });
  expect(await db.database.prisma.digest.count()).toBe(1);
  clock.advance(HOUR_MS);
  await digest();
  expect(await db.database.prisma.digest.count()).toBe(0);
});

test("publishers that make digests at once tell each delivery once, and of an endpoint once", async () => {
  const endpoints = Array.from({ length: 30 }, () => randomUUID());
  for (const endpoint of endpoints) for (let index = 0; index < 3; index++) await givenUp(endpoint, 2);
  await Promise.all(Array.from({ length: 8 }, () => digest(db.database.queries, 20)));
  while ((await digest()) > 0);
  for (const endpoint of endpoints) expect(await toldOf(endpoint)).toEqual([6]);
});

test("a process that is killed while it makes a digest leaves all of it or nothing", async () => {
  const endpoint = randomUUID();
  await givenUp(endpoint, 2);
  const dying: Queries = {
    ...db.database.queries,
    // PostgreSQL carries it out, and nobody hears of it.
    $executeRaw: async (strings, ...values) => {
      await db.database.queries.$executeRaw(strings, ...values);
      throw new Error("killed");
    },
  };
  await expect(digest(dying)).rejects.toThrow("killed");
  await digest();
  expect(await toldOf(endpoint)).toEqual([2]);
  // A statement that fails undoes all of it: here the notice has no place.
  clock.advance(HOUR_MS);
  await givenUp(endpoint, 3);
  await db.database.prisma
    .$executeRaw`alter table notice add constraint full_up check (details ->> 'deliveries' <> '3')`;
  await expect(digest()).rejects.toThrow("full_up");
  await db.database.prisma.$executeRaw`alter table notice drop constraint full_up`;
  await digest();
  expect(await toldOf(endpoint)).toEqual([2, 3]);
});

test("what waits for the next period is not read again and again: one row for each endpoint", async () => {
  const endpointIds = Array.from({ length: 5 }, () => randomUUID());
  for (const endpointId of endpointIds) await givenUp(endpointId, 1);
  expect(await digest()).toBe(5);
  await db.database.prisma.$executeRaw`
    insert into exhaustion (endpoint_id, state, organization_id, endpoint_name, endpoint_url, deliveries, first_at, last_at)
    select id, 'exhausted', 'acme', 'Billing', 'https://receiver.test/hooks', 1, ${clock.now()}, ${clock.now()}
    from unnest(${endpointIds}::uuid[]) as endpoint (id), generate_series(1, 2000)`;
  await db.database.prisma.$executeRaw`analyze exhaustion`;
  // PostgreSQL rounds the rows of each of the probes.
  expect(await readBy(digest)).toBeLessThanOrEqual(10);
  clock.advance(HOUR_MS);
  expect(await digest()).toBe(5);
  expect(await toldOf(endpointIds[0] ?? "")).toEqual([1, 2_000]);
});
