import { randomUUID } from "node:crypto";
import type { Queries } from "@herald/common/database/queries";
import { eventually } from "@herald/dev/harness/eventually";
import { insertDelivery, insertEndpoint, insertEvent, ROW_TIME } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useDatabase } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import { createBodies } from "../src/delivery/bodies.ts";
import { claim } from "../src/sql/claim.ts";
import type { ClaimedDelivery, ReadyDelivery } from "../src/sql/claimed-delivery.ts";

const db = useDatabase();
const NOW = new Date(ROW_TIME.getTime() + 10_000);
const DEADLINE_MS = 15_000;
const KIB = 1024;

/** Bodies within a budget, attempts that end when the test says so, and what was read and given back. */
function environment(budgetBytes: number) {
  const read: number[] = [];
  const underWay: { delivery: ReadyDelivery; end: () => void }[] = [];
  const givenBack: string[] = [];
  const queries: Queries = {
    ...db.database.queries,
    $queryRaw: async <T>(strings: TemplateStringsArray, ...values: unknown[]) => {
      const rows = await db.database.queries.$queryRaw<unknown[]>(strings, ...values);
      read.push(rows.length);
      return rows as T;
    },
  };
  const clock = steeredClock(NOW);
  const bodies = createBodies(
    {
      queries,
      clock,
      log: { debug() {}, info() {}, warn() {}, error() {}, isDebug: false },
      signal: new AbortController().signal,
      unclaim: async ({ deliveryId }) => void givenBack.push(deliveryId),
    },
    { budgetBytes, deadlineMs: DEADLINE_MS },
  );
  const deliver = bodies.held((delivery) => new Promise<void>((end) => underWay.push({ delivery, end })));
  const endAll = () => {
    for (const { end } of underWay.splice(0)) end();
  };
  return { bodies, deliver, underWay, endAll, givenBack, read: () => read.reduce((sum, rows) => sum + rows, 0), clock };
}

/** Claims all that is due to these endpoints. */
async function claimed(endpoints: readonly { id: string }[], leaseMs = 60_000): Promise<ClaimedDelivery[]> {
  const demands = endpoints.map(({ id }) => ({ endpointId: id, count: 5_000, since: new Date(0) }));
  const leasedUntil = new Date(NOW.getTime() + leaseMs);
  return await claim(db.database.queries, demands, { claimId: randomUUID(), now: NOW, leasedUntil });
}

test("a claim brings a small body with it, and of a large one its length in UTF-8", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  await insertDelivery(prisma, endpoint, { body: "s".repeat(8 * KIB) });
  await insertDelivery(prisma, endpoint, { body: "é".repeat(4 * KIB + 1) });
  const bodies = (await claimed([endpoint])).map(({ body, bodyBytes }) => ({ body, bodyBytes }));
  expect(bodies).toContainEqual({ body: "s".repeat(8 * KIB), bodyBytes: 8 * KIB });
  expect(bodies).toContainEqual({ body: null, bodyBytes: 8 * KIB + 2 });
});

test("a large body is sent byte for byte, an event's and a manual delivery's", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const [ofEvent, own] = [`{"a": "${"é".repeat(9_000)}"}`, `{ "b":"${"ü".repeat(9_000)}" }`];
  const event = await insertEvent(prisma, endpoint.organizationId, { body: ofEvent });
  await insertDelivery(prisma, endpoint, { eventKey: event.key });
  await insertDelivery(prisma, endpoint, { body: own });
  const { deliver, underWay, endAll } = environment(1024 * KIB);
  const deliveries = await claimed([endpoint]);
  const delivering = deliveries.map((delivery) => deliver(delivery));
  await eventually(() => expect(underWay).toHaveLength(2));
  const sent = underWay.map(({ delivery }) => (delivery.body as Buffer).toString("utf8"));
  expect(sent.toSorted()).toEqual([ofEvent, own].toSorted());
  endAll();
  await Promise.all(delivering);
});

test("of 2,000 bodies of 256 KiB that wait, no more are in memory than the budget has room for", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const { id } = await insertDelivery(prisma, endpoint, { body: "x".repeat(256 * KIB) });
  // Copies of a row that is stored compressed already: to compress 500 MiB takes long.
  await prisma.$executeRaw`
    with made as (
      insert into delivery (id, endpoint_id, organization_id, event_type, body, created_at)
      select (left(id::text, 24) || lpad(number::text, 12, '0'))::uuid, endpoint_id, organization_id, event_type, body, created_at
      from delivery, generate_series(1, 1999) as number
      where id = ${id}::uuid
      returning id
    )
    insert into due (delivery_id, endpoint_id, due_at) select id, ${endpoint.id}::uuid, ${ROW_TIME} from made`;
  const budgetBytes = 32 * KIB * KIB;
  const { bodies, deliver, underWay, endAll, givenBack, read } = environment(budgetBytes);
  const deliveries = await claimed([endpoint]);
  expect(deliveries).toHaveLength(2_000);
  const delivering = deliveries.map((delivery) => deliver(delivery));
  for (let round = 1; round <= 3; round++) {
    await eventually(() => expect(underWay).toHaveLength(128));
    expect(bodies.bytes()).toBe(budgetBytes);
    expect(read()).toBe(round * 128);
    expect(bodies.areAwaitedBy(endpoint.organizationId)).toBe(true);
    if (round === 3) bodies.close();
    endAll();
  }
  await Promise.all(delivering);
  expect(givenBack).toHaveLength(2_000 - 3 * 128);
  expect(bodies.bytes()).toBe(0);
});

test("the body of an event that goes to many endpoints is read once, and shared while it is in use", async () => {
  const { prisma } = db.database;
  const organizationId = randomUUID();
  const event = await insertEvent(prisma, organizationId, { body: "x".repeat(100 * KIB) });
  const endpoints = await Promise.all(Array.from({ length: 20 }, () => insertEndpoint(prisma, { organizationId })));
  for (const endpoint of endpoints) await insertDelivery(prisma, endpoint, { eventKey: event.key });
  const { bodies, deliver, underWay, endAll, read } = environment(150 * KIB);
  const deliveries = await claimed(endpoints);
  const delivering = deliveries.map((delivery) => deliver(delivery));
  await eventually(() => expect(underWay).toHaveLength(20));
  expect(new Set(underWay.map(({ delivery }) => delivery.body)).size).toBe(1);
  expect(bodies.bytes()).toBe(100 * KIB);
  endAll();
  await Promise.all(delivering);
  expect(read()).toBe(1);
  expect(bodies.bytes()).toBe(0);
});

test("an organization whose large bodies hang leaves bytes to another one", async () => {
  const { prisma } = db.database;
  const [large, small] = [await insertEndpoint(prisma), await insertEndpoint(prisma)];
  for (let index = 0; index < 10; index++) await insertDelivery(prisma, large, { body: "x".repeat(100 * KIB) });
  const { id } = await insertDelivery(prisma, small, { body: "x".repeat(100 * KIB) });
  const { deliver, underWay, endAll } = environment(400 * KIB);
  const [own] = (await claimed([small])) as [ClaimedDelivery];
  const delivering = (await claimed([large])).map((delivery) => deliver(delivery));
  await eventually(() => expect(underWay).toHaveLength(4));
  const late = deliver(own);
  underWay.splice(0, 1)[0]?.end();
  await eventually(() => expect(underWay.some(({ delivery }) => delivery.deliveryId === id)).toBe(true));
  expect(underWay).toHaveLength(4);
  const finishing = setInterval(endAll, 5);
  await Promise.all([...delivering, late]);
  clearInterval(finishing);
});

test("a body that is larger than the budget is sent when no other is in memory", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  for (let index = 0; index < 2; index++) await insertDelivery(prisma, endpoint, { body: "x".repeat(100 * KIB) });
  const { deliver, underWay, endAll } = environment(10 * KIB);
  const delivering = (await claimed([endpoint])).map((delivery) => deliver(delivery));
  for (let sent = 0; sent < 2; sent++) {
    await eventually(() => expect(underWay).toHaveLength(1));
    endAll();
  }
  await Promise.all(delivering);
});

test("a delivery is given back while its lease still leaves time for an attempt, and at a stop", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  for (let index = 0; index < 3; index++) await insertDelivery(prisma, endpoint, { body: "x".repeat(100 * KIB) });
  const { bodies, deliver, underWay, endAll, givenBack } = environment(100 * KIB);
  const [first, short, long] = (await claimed([endpoint])) as [ClaimedDelivery, ClaimedDelivery, ClaimedDelivery];
  const delivering = deliver(first);
  await eventually(() => expect(underWay).toHaveLength(1));
  await deliver({ ...short, leasedUntil: new Date(NOW.getTime() + DEADLINE_MS + 20) });
  expect(givenBack).toEqual([short.deliveryId]);
  const waiting = deliver(long);
  bodies.close();
  await waiting;
  expect(givenBack).toEqual([short.deliveryId, long.deliveryId]);
  await deliver(short);
  expect(givenBack).toHaveLength(3);
  endAll();
  await delivering;
});
