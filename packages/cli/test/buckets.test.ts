import { randomUUID } from "node:crypto";
import { BUCKETS, bucketOf } from "@herald/common/broker/cell";
import { declareTopology, names } from "@herald/common/broker/topology";
import { Prisma } from "@herald/common/database/generated/client";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { secretBox } from "@herald/common/security/secret-box";
import { eventually } from "@herald/testkit/harness/eventually";
import { insertDelivery, insertEndpoint, insertEvent, insertResend } from "@herald/testkit/harness/rows";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { beforeEach, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { MOVING } from "../src/buckets/bucket-rows.ts";
import { moveBucket } from "../src/buckets/move-bucket.ts";
import { type Belonging, TABLES } from "../src/buckets/tables.ts";
import { callHerald } from "./run-herald.ts";

const giving = useDatabase();
const taking = useDatabase();
const broker = useBroker();
const { SECRET_KEYS } = newSealingKeys("k");
const box = secretBox(SECRET_KEYS);
const BUCKET = "a";
const NOW = new Date();
const beginning = () => ({ now: NOW, catchUpAgainAt: new Date(NOW.getTime() + 60_000) });

function environmentOf(to: { url: string }, from: { url: string }): Record<string, string> {
  return {
    DATABASE_URL: to.url,
    FROM_DATABASE_URL: from.url,
    AMQP_URL: broker.url,
    BROKER_NAMESPACE: broker.namespace,
    SECRET_KEYS,
  };
}
const run = (...args: string[]) => callHerald(["buckets", ...args], environmentOf(taking, giving));
const runBack = (...args: string[]) => callHerald(["buckets", ...args], environmentOf(giving, taking));

beforeEach(async () => {
  for (const { database } of [giving, taking]) {
    for (const [name, belonging] of Object.entries<Belonging>(TABLES)) {
      if ("of" in belonging || name === "erasure") await database.queries.$executeRaw`delete from ${Prisma.raw(name)}`;
    }
  }
});

function organizationIn(bucket: string): string {
  for (;;) {
    const id = randomUUID();
    if (bucketOf(id) === bucket) return id;
  }
}

/** An organization with rows in every table that moves: an endpoint that works, with a resend, and one that is paused. */
async function fillOrganization(bucket = BUCKET) {
  const { prisma } = giving.database;
  const organizationId = organizationIn(bucket);
  const id = randomUUID();
  const endpoint = await insertEndpoint(prisma, {
    id,
    organizationId,
    sealedSecret: box.seal("secret", id),
    name: 'Ünïcode "quoted" \\ and\nlines',
    revision: 9_007_199_254_740_993n,
    consecutiveFailures: 2,
    failureRun: ["one/1", "two/1"],
    failedAt: NOW,
  });
  const pausedId = randomUUID();
  const paused = await insertEndpoint(prisma, {
    id: pausedId,
    organizationId,
    sealedSecret: box.seal("secret", pausedId),
    enabled: false,
    disabledReason: "paused",
    disabledAt: NOW,
    disabledBy: "Ada",
  });
  for (const { id: endpointId } of [endpoint, paused]) {
    await prisma.endpointChange.create({
      data: {
        id: randomUUID(),
        organizationId,
        endpointId,
        endpointName: "é",
        revision: 1n,
        changedAt: NOW,
        changedBy: "admin",
        after: { name: "é", url: "https://x.test", enabled: true, events: [] },
      },
    });
    await prisma.catchUp.create({ data: { endpointId, priority: 1, dueAt: NOW, completeTo: NOW } });
    await prisma.digest.create({ data: { endpointId, madeAt: NOW } });
  }
  const event = await insertEvent(prisma, organizationId, { body: '{"b": 1.0, "a":"\\u0000é\\n\u2028"}' });
  await insertEvent(prisma, organizationId);
  const delivery = await insertDelivery(prisma, endpoint, {
    eventKey: event.key,
    attemptCount: 2,
    attemptedAt: NOW,
    durationMs: 5,
    statusCode: 500,
    responseExcerpt: "\ttabs, \\N and \\.",
  });
  await prisma.deliveryAttempt.create({
    data: { deliveryId: delivery.id, number: 1, startedAt: NOW, durationMs: 3, statusCode: 503 },
  });
  await insertDelivery(prisma, endpoint, { state: "succeeded", attemptCount: 1, attemptedAt: NOW, statusCode: 200 });
  await insertDelivery(prisma, endpoint, { due: { claimId: randomUUID(), interruptions: 1 } });
  await insertDelivery(prisma, paused);
  await insertResend(prisma, endpoint);
  await insertResend(prisma, paused, { state: "finished" });
  await prisma.idempotencyKey.create({
    data: {
      organizationId,
      key: "k-1",
      requestHash: new Uint8Array([0, 255, 92, 120]),
      targetId: randomUUID(),
      lockedUntil: NOW,
      createdAt: NOW,
      answer: '{"a": 1}',
    },
  });
  return { organizationId, endpoint, paused, delivery };
}

/** Every row that moves, as text, by table. What a hold and a release change is left out. */
async function rowsOf({ database: { queries } }: typeof giving): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const [name, belonging] of Object.entries<Belonging>(TABLES)) {
    if (!("of" in belonging)) continue;
    const rows = await queries.$queryRaw<{ row: string }[]>`
      select (
        to_jsonb(row) - 'enabled' - 'paused_until' - 'updated_at'
          - ${["catch_up", "resend"].includes(name) ? ["due_at", "again_at", "priority", "complete_to"] : []}::text[]
      )::text as "row"
      from ${Prisma.raw(name)} as row
      order by 1`;
    found[name] = rows.map(({ row }) => row);
  }
  return found;
}

const endpointIn = ({ database: { prisma } }: typeof giving, id: string) =>
  prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });

test("every table of the schema moves with its bucket, or says why it stays", async () => {
  const rows = await giving.database.queries.$queryRaw<{ name: string }[]>`
    select relname as name from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = current_schema()::regnamespace`;
  expect(Object.keys(TABLES).sort()).toEqual(rows.map(({ name }) => name).sort());
});

test("herald buckets move copies every row of the bucket as it is, serves it in the taking database and nowhere else", async () => {
  const { endpoint, paused } = await fillOrganization();
  const before = await rowsOf(giving);
  const other = await fillOrganization("b");
  const { code, stdout, stderr } = await run("move", BUCKET);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("Bucket a was moved: 1 organization, 2 endpoints.");
  const after = await rowsOf(taking);
  expect(after).toEqual(before);
  for (const rows of Object.values(after)) expect(rows).not.toEqual([]);
  expect(await endpointIn(taking, endpoint.id)).toMatchObject({ enabled: true, pausedUntil: null });
  expect(await endpointIn(taking, paused.id)).toMatchObject({ enabled: false, disabledReason: "paused" });
  expect(await endpointIn(giving, endpoint.id)).toMatchObject({ enabled: false });
  expect(await endpointIn(giving, other.endpoint.id)).toEqual(other.endpoint);
});

test("after a move the taking cell catches up the endpoint, and goes on with its resend", async () => {
  const { endpoint, paused } = await fillOrganization();
  expect((await run("move", BUCKET)).code).toBe(0);
  const { prisma } = taking.database;
  expect(await prisma.catchUp.findUnique({ where: { endpointId: endpoint.id } })).toMatchObject({
    priority: 0,
    cursor: null,
    completeTo: null,
    againAt: expect.any(Date),
  });
  const due = (endpointId: string) => taking.database.queries.$queryRaw<{ due: boolean }[]>`
    select due_at <= now() as due from resend where endpoint_id = ${endpointId}::uuid`;
  expect(await due(endpoint.id)).toEqual([{ due: true }]);
  expect(await due(paused.id)).toEqual([{ due: null }]);
});

test("a move that is cut off at any moment is finished by the next one, and never do both databases serve the bucket", async () => {
  const organizations = [await fillOrganization(), await fillOrganization()];
  const before = await rowsOf(giving);
  const from = giving.database.queries;
  const to = taking.database.queries;
  let cuts = 0;
  for (let moved = false; !moved; cuts++) {
    let left = cuts;
    const onProgress = () => {
      if (left-- === 0) throw new Error("cut off");
    };
    const options = { beginning, pageSize: 1, assertUnserved: async () => {}, onProgress };
    moved = await moveBucket({ from, to }, BUCKET, options).then(
      () => true,
      (error: Error) => {
        expect(error.message).toBe("cut off");
        return false;
      },
    );
    for (const { endpoint } of organizations) {
      const copied = await taking.database.prisma.webhookEndpoint.findUnique({ where: { id: endpoint.id } });
      const { enabled } = await endpointIn(giving, endpoint.id);
      expect(enabled && copied !== null).toBe(false);
      if (copied?.enabled) expect(await rowsOf(taking)).toEqual(before);
    }
  }
  // It holds, has pages of each table, counts and releases: each of these was the last one once.
  expect(cuts).toBeGreaterThan(20);
  expect(await rowsOf(taking)).toEqual(before);
  for (const { endpoint } of organizations) {
    expect(await endpointIn(taking, endpoint.id)).toMatchObject({ enabled: true, pausedUntil: null });
  }
});

test("what the taking cell did since the release is not copied over by another move", async () => {
  const { endpoint, delivery } = await fillOrganization();
  const cutOff = moveBucket({ from: giving.database.queries, to: taking.database.queries }, BUCKET, {
    beginning,
    pageSize: 10,
    assertUnserved: async () => {},
    onProgress: (text) => {
      if (text === "released the endpoints") throw new Error("cut off");
    },
  });
  await expect(cutOff).rejects.toThrow("cut off");
  const { prisma } = taking.database;
  await prisma.due.delete({ where: { deliveryId: delivery.id } });
  await prisma.delivery.update({ where: { id: delivery.id }, data: { state: "succeeded" } });
  await prisma.webhookEndpoint.update({ where: { id: endpoint.id }, data: { name: "renamed" } });
  const after = await rowsOf(taking);
  expect((await runBack("move", BUCKET)).stderr).toContain("a move the other way was cut off");
  expect((await run("cancel", BUCKET)).stderr).toContain("has the endpoints of bucket a already");
  const { code, stdout } = await run("move", BUCKET);
  expect(code).toBe(0);
  expect(stdout).toContain("was moved before");
  expect(await rowsOf(taking)).toEqual(after);
});

test("a move waits for transactions that write and for attempts under way, and copies what they wrote", async () => {
  const { endpoint, delivery } = await fillOrganization();
  const { prisma } = giving.database;
  const claim = { dueAt: new Date(Date.now() + 600_000), claimId: randomUUID() };
  await prisma.due.update({ where: { deliveryId: delivery.id }, data: claim });
  const said: string[] = [];
  let moving: Promise<unknown> = Promise.resolve();
  const late = await prisma.$transaction(
    async (transaction) => {
      const made = await insertDelivery(transaction as typeof prisma, endpoint);
      moving = moveBucket({ from: giving.database.queries, to: taking.database.queries }, BUCKET, {
        beginning,
        pageSize: 10,
        assertUnserved: async () => {},
        onProgress: (text) => void said.push(text),
      });
      await eventually(() => expect(said).toContain("waits until 1 transactions of the giving cell have ended"));
      return made;
    },
    { timeout: 60_000 },
  );
  await eventually(() => expect(said).toContain("waits until 1 attempts have ended"));
  expect(await taking.database.prisma.webhookEndpoint.count()).toBe(0);
  await prisma.due.delete({ where: { deliveryId: delivery.id } });
  await prisma.delivery.update({ where: { id: delivery.id }, data: { state: "succeeded" } });
  await moving;
  const states = await taking.database.prisma.delivery.findMany({ where: { id: { in: [late.id, delivery.id] } } });
  expect(states.map(({ state }) => state).sort()).toEqual(["pending", "succeeded"]);
  expect(await taking.database.prisma.due.count({ where: { deliveryId: delivery.id } })).toBe(0);
});

test("an endpoint that an API of the giving cell makes during a move keeps it from its end, and goes with the next one", async () => {
  const { organizationId } = await fillOrganization();
  let begun = 0;
  const options = {
    beginning: () => {
      begun++;
      return beginning();
    },
    pageSize: 10,
    assertUnserved: async () => {},
  };
  const from = giving.database.queries;
  const to = taking.database.queries;
  let late: Promise<{ id: string }> | undefined;
  let checks = 0;
  const first = moveBucket({ from, to }, BUCKET, {
    ...options,
    // The second time is after the copy.
    assertUnserved: async () => {
      if (checks++ > 0) late ??= insertEndpoint(giving.database.prisma, { organizationId });
      await late;
    },
    onProgress: () => {},
  });
  await expect(first).rejects.toThrow("1 endpoints of bucket a came into the giving database");
  expect(await taking.database.prisma.webhookEndpoint.count({ where: { enabled: true } })).toBe(0);
  // The time of the release is not that of the start: a copy may take hours.
  expect(begun).toBe(0);
  expect(await moveBucket({ from, to }, BUCKET, { ...options, onProgress: () => {} })).toMatchObject({ endpoints: 3 });
  expect(await endpointIn(taking, (await late)?.id ?? "")).toMatchObject({ enabled: true });
});

test("a move whose copy lacks a row says which table lacks it, and releases nothing", async () => {
  const { endpoint } = await fillOrganization();
  const { queries } = taking.database;
  await queries.$executeRaw`create rule lose as on insert to endpoint_change do instead nothing`;
  const lacking = await run("move", BUCKET).finally(() => queries.$executeRaw`drop rule lose on endpoint_change`);
  expect(lacking).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("0 rows of endpoint_change") });
  expect(await endpointIn(taking, endpoint.id)).toMatchObject({ enabled: false });
  expect(await run("move", BUCKET)).toMatchObject({ code: 0 });
  expect(await rowsOf(taking)).toEqual(await rowsOf(giving));
});

test("herald buckets forget erases the moved bucket, and only it, and not before the move", async () => {
  const { organizationId, endpoint, paused } = await fillOrganization();
  const other = await fillOrganization("b");
  expect(await run("forget", BUCKET)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("have not been moved"),
  });
  await run("move", BUCKET);
  expect((await runBack("move", BUCKET)).stderr).toContain("herald buckets forget a");
  const moved = await rowsOf(taking);
  expect((await run("forget", BUCKET)).stdout).toContain("forgotten bucket a: 2 endpoints, 2 events");
  expect(await run("forget", BUCKET)).toMatchObject({ code: 0 });
  const { prisma } = giving.database;
  expect(
    await prisma.webhookEndpoint.findMany({ select: { organizationId: true }, distinct: "organizationId" }),
  ).toEqual([{ organizationId: other.organizationId }]);
  expect(await prisma.businessEvent.count({ where: { organizationId } })).toBe(0);
  expect(await prisma.businessEvent.count({ where: { organizationId: other.organizationId } })).toBe(2);
  expect(await prisma.idempotencyKey.count({ where: { organizationId } })).toBe(0);
  const erased = await prisma.erasure.findMany();
  expect(erased.map(({ endpointId }) => endpointId).sort()).toEqual([endpoint.id, paused.id].sort());
  expect(await rowsOf(taking)).toEqual(moved);
  // Its publishers have not erased the history yet, and would erase what comes back.
  expect((await runBack("move", BUCKET)).stderr).toContain("still erases");
});

test("a bucket that was moved and forgotten can be moved back", async () => {
  const { endpoint } = await fillOrganization();
  await run("move", BUCKET);
  await run("forget", BUCKET);
  // As its publishers do.
  for (const name of ["erasure", "delivery", "delivery_attempt", "due", "resend", "endpoint_change"]) {
    await giving.database.queries.$executeRaw`delete from ${Prisma.raw(name)}`;
  }
  const before = await rowsOf(taking);
  expect((await runBack("move", BUCKET)).code).toBe(0);
  expect(await rowsOf(giving)).toEqual(before);
  expect(await endpointIn(giving, endpoint.id)).toMatchObject({ enabled: true });
});

test("herald buckets cancel ends a move that is not over, and the giving cell serves the bucket again", async () => {
  const { endpoint, paused } = await fillOrganization();
  const cutOff = moveBucket({ from: giving.database.queries, to: taking.database.queries }, BUCKET, {
    beginning,
    pageSize: 10,
    assertUnserved: async () => {},
    onProgress: (text) => {
      if (text === "releases the endpoints") throw new Error("cut off");
    },
  });
  await expect(cutOff).rejects.toThrow("cut off");
  expect(await endpointIn(giving, endpoint.id)).toMatchObject({ enabled: false, pausedUntil: MOVING });
  const { queries } = giving.database;
  const resting = () => queries.$queryRaw<{ resting: boolean }[]>`
    select due_at = 'infinity' as resting from catch_up where endpoint_id = ${endpoint.id}::uuid
    union all
    select due_at = 'infinity' from resend where endpoint_id = ${endpoint.id}::uuid`;
  expect(await resting()).toEqual([{ resting: true }, { resting: true }]);
  expect((await run("status")).stdout).toContain("BUCKET");
  expect(await run("cancel", BUCKET)).toMatchObject({ code: 0, stderr: "" });
  expect(await taking.database.prisma.webhookEndpoint.count()).toBe(0);
  expect(await resting()).toEqual([{ resting: false }, { resting: false }]);
  expect(await endpointIn(giving, endpoint.id)).toMatchObject({ enabled: true, pausedUntil: null });
  expect(await endpointIn(giving, paused.id)).toMatchObject({ enabled: false, disabledReason: "paused" });
});

test("a move refuses one database twice, keys that open nothing, and a bucket whose events somebody takes", async () => {
  const { endpoint } = await fillOrganization();
  const same = await callHerald(["buckets", "move", BUCKET], environmentOf(giving, giving));
  expect(same).toMatchObject({ code: 1, stderr: expect.stringContaining("the same database") });
  const otherKeys = { ...environmentOf(taking, giving), SECRET_KEYS: newSealingKeys("other").SECRET_KEYS };
  const sealed = await callHerald(["buckets", "move", BUCKET], otherKeys);
  expect(sealed).toMatchObject({ code: 1, stderr: expect.stringContaining(endpoint.id) });
  const connection = await connect(broker.url);
  const channel = await connection.createChannel();
  await declareTopology(channel, broker.namespace);
  await channel.consume(names(broker.namespace).inboxQueues[BUCKETS.indexOf(BUCKET)] as string, () => {});
  const served = await run("move", BUCKET);
  await connection.close();
  expect(served).toMatchObject({ code: 1, stderr: expect.stringContaining(".inbox.a") });
  expect(await endpointIn(giving, endpoint.id)).toEqual(endpoint);
});

test("herald buckets status says for each bucket how many endpoints there are and what a move holds", async () => {
  await fillOrganization();
  await fillOrganization("b");
  await run("move", BUCKET);
  const { code, stdout } = await callHerald(["buckets", "status", "--json"], {
    ...environmentOf(giving, taking),
    CELL: "first",
    INBOX_BUCKETS: "b",
  });
  expect(code).toBe(0);
  expect(
    stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { bucket: "a", endpoints: 2, moving: 0, moved: 2, served: false },
    { bucket: "b", endpoints: 2, moving: 0, moved: 0, served: true },
  ]);
});
