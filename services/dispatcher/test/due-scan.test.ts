import { randomUUID } from "node:crypto";
import type { Queries } from "@herald/common/database/queries";
import { insertDelivery, insertEndpoint, ROW_TIME } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useDatabase } from "@herald/dev/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import { createDueScan } from "../src/lanes/due-scan.ts";
import { claim } from "../src/sql/claim.ts";
import { type DuePageQuery, findDueEndpoints } from "../src/sql/find-due-endpoints.ts";

const db = useDatabase({ statementTimeoutMs: 600_000 });
const NOW = new Date(ROW_TIME.getTime() + 3_600_000);

function later(milliseconds: number): Date {
  return new Date(NOW.getTime() + milliseconds);
}

beforeEach(async () => {
  await db.database.prisma.$executeRaw`truncate webhook_endpoint, delivery, due`;
});

/** A due scan by a clock that stands still, and the statements that it makes. */
function scanning() {
  const clock = steeredClock(NOW);
  let statements = 0;
  const counting: Queries = {
    ...db.database.queries,
    $queryRaw: async <T>(strings: TemplateStringsArray, ...values: unknown[]) => {
      statements++;
      return await db.database.queries.$queryRaw<T>(strings, ...values);
    },
  };
  const scan = createDueScan({ queries: counting, clock });
  async function look() {
    const found: { endpointId: string; interrupted: boolean }[] = [];
    statements = 0;
    await scan.scan(
      ({ endpointId, interrupted }) => found.push({ endpointId, interrupted }),
      new AbortController().signal,
    );
    return { found, ids: found.map(({ endpointId }) => endpointId).sort(), statements };
  }
  return { clock, look, since: scan.since };
}

async function storeEndpoints(count: number): Promise<string[]> {
  const rows = await db.database.prisma.$queryRaw<{ id: string }[]>`
    insert into webhook_endpoint (id, organization_id, name, url, enabled, events, sealed_secret, created_at, updated_at)
    select gen_random_uuid(), 'organization', 'Endpoint', 'https://hooks.example.com/', true, '{}', 'sealed', ${ROW_TIME}, ${ROW_TIME}
    from generate_series(1, ${count}::int)
    returning id`;
  return rows.map(({ id }) => id).sort();
}

test("§6.3 §8/pass a due scan finds every enabled endpoint with a due delivery, page by page, however large other backlogs are", async () => {
  const { prisma, queries } = db.database;
  const due = await Promise.all(Array.from({ length: 7 }, () => insertEndpoint(prisma)));
  for (const endpoint of due) for (let index = 0; index < 5; index++) await insertDelivery(prisma, endpoint);
  const waiting = await insertEndpoint(prisma);
  await insertDelivery(prisma, waiting, { attemptCount: 1, due: { dueAt: later(1) } });
  const underWay = await insertEndpoint(prisma);
  await insertDelivery(prisma, underWay, { due: { dueAt: later(5_000), claimId: randomUUID() } });
  const disabled = await insertEndpoint(prisma, { enabled: false });
  await insertDelivery(prisma, disabled);
  for (const limit of [1, 3, 4, 50]) {
    const found: string[] = [];
    let after: string | null = null;
    do {
      const query: DuePageQuery = { now: NOW, since: new Date(0), known: [], after, limit };
      const page = await findDueEndpoints(queries, query);
      found.push(...page.due.map(({ endpointId }) => endpointId));
      after = page.next;
    } while (after !== null);
    expect(found.sort()).toEqual(due.map(({ id }) => id).sort());
  }
});

test("2,000 endpoints that are due at once are found by one statement", async () => {
  const ids = await storeEndpoints(2_000);
  await db.database.prisma.$executeRaw`
    insert into due (delivery_id, endpoint_id, due_at) select gen_random_uuid(), id, ${ROW_TIME} from webhook_endpoint`;
  const { look } = scanning();
  expect(await look()).toMatchObject({ ids, statements: 1 });
  expect(await look()).toMatchObject({ ids, statements: 1 });
});

test("a due scan tells an endpoint whose first delivery was interrupted again", async () => {
  const { prisma } = db.database;
  const [interrupted, fresh] = [await insertEndpoint(prisma), await insertEndpoint(prisma)];
  await insertDelivery(prisma, interrupted, { due: { claimId: randomUUID(), interruptions: 1 } });
  await insertDelivery(prisma, fresh);
  const { found } = await scanning().look();
  expect(found).toContainEqual({ endpointId: interrupted.id, interrupted: true });
  expect(found).toContainEqual({ endpointId: fresh.id, interrupted: false });
});

test("an endpoint with an old backlog is found by every scan, and its claims begin there", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  await insertDelivery(prisma, endpoint, { due: { dueAt: later(-3_000_000) } });
  const { clock, look, since } = scanning();
  for (let scan = 0; scan < 3; scan++) {
    expect((await look()).ids).toEqual([endpoint.id]);
    clock.advance(1_000);
  }
  const claimed = await claim(db.database.queries, [{ endpointId: endpoint.id, count: 1, since: since(endpoint.id) }], {
    claimId: randomUUID(),
    now: clock.now(),
    leasedUntil: later(60_000),
  });
  expect(claimed).toHaveLength(1);
  expect((await look()).ids).toEqual([]);
});

test("§3.1/resume a scan finds the deliveries that were due long before an endpoint was resumed", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma, { enabled: false });
  await insertDelivery(prisma, endpoint, { due: { dueAt: later(-3_000_000) } });
  const { clock, look, since } = scanning();
  expect((await look()).ids).toEqual([]);
  clock.advance(5_000);
  await prisma.webhookEndpoint.update({ where: { id: endpoint.id }, data: { enabled: true, updatedAt: clock.now() } });
  expect((await look()).ids).toEqual([endpoint.id]);
  expect(since(endpoint.id) <= later(-3_000_000)).toBe(true);
});

test("a scan from the beginning, once a minute, finds a row that appeared long after its time", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const { clock, look } = scanning();
  await look();
  await insertDelivery(prisma, endpoint, { due: { dueAt: later(-3_000_000) } });
  clock.advance(1_000);
  expect((await look()).ids).toEqual([]);
  clock.advance(60_000);
  expect((await look()).ids).toEqual([endpoint.id]);
});

test("a scan after the clock was set back finds what is due by then", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const { clock, look } = scanning();
  await look();
  clock.set(later(-600_000));
  await insertDelivery(prisma, endpoint, { due: { dueAt: later(-600_000) } });
  expect((await look()).ids).toEqual([endpoint.id]);
});

test("looks and claims cost what is alive, also while a transaction keeps the rows of 20,000 deliveries that are done", async () => {
  const { prisma, queries } = db.database;
  const endpoint = await insertEndpoint(prisma);
  await prisma.$executeRaw`alter table due set (autovacuum_enabled = false)`;
  await prisma.$executeRaw`
    insert into due (delivery_id, endpoint_id, due_at)
    select gen_random_uuid(), ${endpoint.id}::uuid, ${later(-1_000_000)}::timestamptz + number * interval '1 ms'
    from generate_series(1, 20000) as number`;
  await insertDelivery(prisma, endpoint, { due: { dueAt: NOW } });
  await prisma.$executeRaw`analyze due`;
  const own = { claimId: randomUUID(), now: NOW, leasedUntil: later(60_000) };
  const find = (since: Date) => (explaining: Queries) =>
    findDueEndpoints(explaining, { now: NOW, since, known: [], after: null, limit: 100 });
  const take = (since: Date) => (explaining: Queries) =>
    claim(explaining, [{ endpointId: endpoint.id, count: 10, since }], own);

  await prisma.$transaction(
    async (transaction) => {
      await transaction.$queryRaw`select count(*) from due`;
      await prisma.$executeRaw`delete from due where due_at < ${NOW}::timestamptz`;
      const { look, since } = scanning();
      await look();
      for (const statement of [find, take]) {
        const fromTheBeginning = await pagesRead(queries, statement(new Date(0)));
        const bounded = await pagesRead(queries, statement(since(endpoint.id)));
        expect(fromTheBeginning).toBeGreaterThan(150);
        expect(bounded).toBeLessThan(50);
      }
    },
    { isolationLevel: "RepeatableRead", timeout: 600_000 },
  );
  await prisma.$executeRaw`alter table due reset (autovacuum_enabled)`;
});

/** How many pages PostgreSQL reads for the statement of a call. What the statement changes is undone. */
async function pagesRead(queries: Queries, call: (queries: Queries) => Promise<unknown>): Promise<number> {
  let pages: number | undefined;
  const explaining: Queries = {
    ...queries,
    $queryRaw: async <T>([first = "", ...rest]: TemplateStringsArray, ...values: unknown[]) => {
      const texts = [`explain (analyze, buffers, format json) ${first}`, ...rest];
      await db.database.prisma
        .$transaction(async (transaction) => {
          const [row] = await transaction.$queryRaw<{ "QUERY PLAN": { Plan: Record<string, number> }[] }[]>(
            Object.assign(texts, { raw: texts }),
            ...values,
          );
          const plan = row?.["QUERY PLAN"][0]?.Plan ?? {};
          pages = (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
          throw new Error("undo");
        })
        .catch((error) => {
          if (pages === undefined) throw error;
        });
      return [] as T;
    },
  };
  await call(explaining);
  if (pages === undefined) throw new Error("The call ran no statement.");
  return pages;
}
