import { randomUUID } from "node:crypto";
import { type Broker, connectBroker, type Publisher } from "@herald/common/broker/broker";
import { names } from "@herald/common/broker/topology";
import type { Prisma } from "@herald/common/database/generated/client";
import { noticeId } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";
import { Registry } from "@herald/common/telemetry/metrics";
import { NOTICE_TYPES, type Notice, type NoticeAttempt } from "@herald/contracts";
import { noticeSchema } from "@herald/contracts/schemas";
import { eventually } from "@herald/dev/harness/eventually";
import { pagesRead } from "@herald/dev/harness/plans";
import { insertDelivery, insertEndpoint, ROW_TIME } from "@herald/dev/harness/rows";
import { steeredClock } from "@herald/dev/harness/steered-clock";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import addFormatsModule from "ajv-formats";
import { type ChannelModel, connect } from "amqplib";
import { type GivenUp, makeDigests } from "../src/sql/notices.ts";
import { publishNotices } from "../src/tasks/publish-notices.ts";
import { SILENT, taskParts } from "./given.ts";

const db = useDatabase();
const place = useBroker();
const exchange = names(place.namespace).noticesExchange;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const ajv = new Ajv({ strict: true, allowUnionTypes: true });
(addFormatsModule as unknown as typeof addFormatsModule.default)(ajv);
const validate = ajv.compile<Notice>(noticeSchema);

let broker: Broker;
let publisher: Publisher;
let registry: Registry;
let product: ChannelModel;
let clock = steeredClock(ROW_TIME);

beforeEach(async () => {
  registry = new Registry();
  clock = steeredClock(ROW_TIME);
  broker = connectBroker({ url: place.url, namespace: place.namespace, name: "notices test", log: SILENT });
  publisher = broker.publisher();
  product = await connect(place.url);
  product.on("error", () => {});
  await broker.ready();
  await db.database.prisma.$executeRaw`truncate notice, exhaustion, digest`;
});
afterEach(async () => {
  await broker.close();
  await product.close().catch(() => {});
});

function run(queries: Queries = db.database.queries): Promise<void> {
  registry.clear();
  const parts = { ...taskParts(queries, clock, registry), publisher, exchange };
  return publishNotices(parts, new AbortController().signal);
}

async function countOf(result: string): Promise<number> {
  const { values } = (await registry.getSingleMetric("herald_notices_total")?.get()) ?? { values: [] };
  return values.filter(({ labels }) => labels.result === result).reduce((sum, { value }) => sum + value, 0);
}

const waiting = () => db.database.prisma.notice.findMany({ orderBy: { id: "asc" } });

/** The notices of a product that has bound a queue of its own. */
async function listen(pattern: string): Promise<Notice[]> {
  const channel = await product.createChannel();
  const { queue } = await channel.assertQueue("", { exclusive: true });
  await channel.bindQueue(queue, exchange, pattern);
  const notices: Notice[] = [];
  await channel.consume(queue, (message) => message && notices.push(JSON.parse(message.content.toString())), {
    noAck: true,
  });
  return notices;
}

/** Publishes what waits, to a product that listens, which has this many notices then. */
async function published(count = 1, pattern = "#"): Promise<Notice[]> {
  const notices = await listen(pattern);
  await run();
  await eventually(() => expect(notices).toHaveLength(count));
  return notices;
}

async function insertNotice(row: Partial<Prisma.NoticeUncheckedCreateInput> = {}) {
  return await db.database.prisma.notice.create({
    data: {
      id: noticeId(ROW_TIME),
      type: "failing",
      organizationId: "acme",
      endpointId: randomUUID(),
      endpointName: "Test receiver",
      endpointUrl: "https://receiver.test/hooks",
      failureRun: [],
      occurredAt: ROW_TIME,
      publishAt: ROW_TIME,
      ...row,
    },
  });
}

test.each([
  ["made", 0],
  ["taken by a publisher that died", MINUTE_MS],
])(
  "regression: a notice that was %s before PostgreSQL's clock was set back by an hour is published",
  async (_how, leaseMs) => {
    await insertNotice({ publishAt: new Date(ROW_TIME.getTime() + leaseMs) });
    clock.set(new Date(ROW_TIME.getTime() - HOUR_MS));
    await published();
    expect(await waiting()).toEqual([]);
  },
);

test("a notice has endpoint, reason and the attempts behind it, as its schema says", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const failures = [
    { statusCode: 500, errorSummary: "receiver answered 500" },
    { statusCode: 502, errorSummary: "receiver answered 502" },
    { statusCode: 503, errorSummary: "connection refused" },
  ];
  const attempts: NoticeAttempt[] = [];
  for (const [index, failure] of failures.entries()) {
    const startedAt = new Date(ROW_TIME.getTime() + index * 1_000);
    const attempt = { durationMs: 5, ...failure };
    // The latest attempt of a delivery is in its row, an earlier one has a row of its own.
    const isLatest = index % 2 === 0;
    const latest = isLatest ? { attemptCount: 1, attemptedAt: startedAt, ...attempt } : { attemptCount: 2, ...attempt };
    const { id: deliveryId, eventType } = await insertDelivery(prisma, endpoint, latest);
    if (!isLatest) await prisma.deliveryAttempt.create({ data: { deliveryId, number: 1, startedAt, ...attempt } });
    attempts.push({ deliveryId, eventType, number: 1, attemptedAtUtc: startedAt.toISOString(), ...failure });
  }
  const failureRun = attempts.map(({ deliveryId }) => `${deliveryId}/1`);
  const { id } = await insertNotice({ endpointId: endpoint.id, organizationId: endpoint.organizationId, failureRun });
  const notices = await published(1, "endpoint.failing");
  expect(notices[0]).toEqual({
    id,
    type: "endpoint.failing",
    occurredAtUtc: ROW_TIME.toISOString(),
    organizationId: endpoint.organizationId,
    // The URL is https://receiver.test/hooks: the rest of a URL may hold a token.
    endpoint: { id: endpoint.id, name: endpoint.name, origin: "https://receiver.test" },
    reason: "3 attempts in a row failed (the latest: connection refused).",
    consecutiveFailures: 3,
    attempts,
  });
  expect(validate(notices[0])).toBe(true);
  expect(await waiting()).toEqual([]);
});

test("a notice outlives its endpoint, with everything that is still known", async () => {
  const { prisma } = db.database;
  const endpoint = await insertEndpoint(prisma);
  const delivery = await insertDelivery(prisma, endpoint);
  await insertNotice({ type: "disabled", endpointId: endpoint.id, failureRun: [`${delivery.id}/1`] });
  await prisma.webhookEndpoint.delete({ where: { id: endpoint.id } });
  await prisma.delivery.delete({ where: { id: delivery.id } });
  const notices = await published();
  expect(notices[0]).toMatchObject({ type: "endpoint.disabled", consecutiveFailures: 1, attempts: [] });
  expect(notices[0]?.reason).toContain("disabled");
  expect(validate(notices[0])).toBe(true);
});

test("notices arrive by the routing key of their type, in the order of their making", async () => {
  const at = (milliseconds: number) => {
    const occurredAt = new Date(ROW_TIME.getTime() - milliseconds);
    return { occurredAt, publishAt: occurredAt };
  };
  const made = [
    await insertNotice(at(3)),
    await insertNotice(at(2)),
    // One settlement makes these two.
    await insertNotice(at(1)),
    await insertNotice({ type: "disabled", ...at(1) }),
  ];
  const all = await listen("endpoint.*");
  const disabled = await listen("endpoint.disabled");
  await run();
  await eventually(() => expect(all.map(({ id }) => id)).toEqual(made.map(({ id }) => id)));
  await eventually(() => expect(disabled.map(({ id }) => id)).toEqual([made[3]?.id]));
});

test("more notices than a page are published in one run", async () => {
  await db.database.prisma.$executeRaw`
    insert into notice (type, organization_id, endpoint_id, endpoint_name, endpoint_url, failure_run, occurred_at, publish_at)
    select 'endpoint.failing', 'acme', gen_random_uuid(), 'n', 'https://receiver.test', '{}', ${ROW_TIME}, ${ROW_TIME}
    from generate_series(1, 250)`;
  const notices = await listen("#");
  await run();
  await eventually(() => expect(new Set(notices.map(({ id }) => id)).size).toBe(250));
  expect(await waiting()).toEqual([]);
});

test("a notice that no queue is bound for is deleted, and counted", async () => {
  await insertNotice();
  await run();
  expect(await waiting()).toEqual([]);
  expect(await countOf("unrouted")).toBe(1);
});

test("a process that dies after the broker has a notice causes only a second copy, with the same id", async () => {
  const { id } = await insertNotice();
  const notices = await listen("#");
  const dying: Queries = {
    ...db.database.queries,
    $executeRaw: (strings, ...values) =>
      strings.join("").startsWith("delete from notice")
        ? Promise.reject(new Error("killed"))
        : db.database.queries.$executeRaw(strings, ...values),
  };
  await expect(run(dying)).rejects.toThrow("killed");
  await eventually(() => expect(notices).toHaveLength(1));
  await run();
  expect(await waiting()).toHaveLength(1);
  clock.advance(MINUTE_MS);
  await run();
  await eventually(() => expect(notices.map((notice) => notice.id)).toEqual([id, id]));
  expect(await waiting()).toEqual([]);
});

test("a broker that takes nothing leaves the notices where they are, due at once", async () => {
  await insertNotice();
  await publisher.close();
  await run();
  expect(await countOf("failed")).toBe(1);
  expect(await waiting()).toMatchObject([{ publishAt: ROW_TIME }]);
  publisher = broker.publisher();
  await published();
});

test("two publishers at once publish each notice once", async () => {
  for (let index = 0; index < 20; index++) await insertNotice();
  const notices = await listen("#");
  await Promise.all([run(), run()]);
  await eventually(() => expect(notices.length).toBeGreaterThanOrEqual(20));
  expect(await waiting()).toEqual([]);
  expect(new Set(notices.map(({ id }) => id)).size).toBe(notices.length);
});

const author = { changedBy: "admin", name: "Ana", subject: "auth0|7" };
const GIVEN_UP = {
  deliveries: 2,
  firstAtUtc: ROW_TIME.toISOString(),
  lastAtUtc: ROW_TIME.toISOString(),
};
const rejected = {
  eventId: "5f0c9a52-3d51-4f0e-8a35-0d9f7c1be111",
  eventType: "RiskCreated",
  cause: "rejected",
  reason: "/entityId must be a UUID",
};
const ofNoEndpoint = { endpointId: null, endpointName: null, endpointUrl: null };

test("a notice of every type is as its schema says, with its reason in words", async () => {
  const failureRun = [`${randomUUID()}/1`, `${randomUUID()}/1`, `${randomUUID()}/2`];
  const rows: Partial<Prisma.NoticeUncheckedCreateInput>[] = [
    { type: "failing", failureRun },
    { type: "disabled", failureRun },
    { type: "recovered", failureRun },
    { type: "exhausted", details: GIVEN_UP },
    { type: "expired", details: GIVEN_UP },
    { type: "resumed", details: { author } },
    { type: "secretReplaced", details: { author: { ...author, name: null } } },
    { type: "deleted", details: { author: { changedBy: "operator", name: null, subject: null } } },
    { type: "eventRejected", ...ofNoEndpoint, details: rejected },
  ];
  for (const row of rows) await insertNotice(row);
  const notices = await published(NOTICE_TYPES.length);
  expect(notices.map(({ type }) => type)).toEqual([...NOTICE_TYPES]);
  for (const notice of notices) {
    validate(notice);
    expect([notice.type, validate.errors ?? []]).toEqual([notice.type, []]);
  }
  expect(notices.map(({ reason }) => reason)).toEqual([
    "3 attempts in a row failed.",
    "3 attempts in a row failed, so the endpoint is disabled: nothing is sent until an admin resumes it.",
    "The endpoint works again: a delivery succeeded after 3 failed attempts in a row.",
    "2 deliveries were given up, since their last attempts failed too.",
    "2 deliveries were still unfinished when they were too old to be kept, so they were given up.",
    "The endpoint was resumed by Ana.",
    "The signing secret was replaced by an admin: attempts that begin later are signed with the new one.",
    "The endpoint was deleted by an operator of Herald, with its history.",
    "/entityId must be a UUID",
  ]);
});

describe("digests of what was given up", () => {
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

  /** The deliveries of an endpoint's notices, in the order of these. */
  async function countsOf(endpointId: string): Promise<number[]> {
    const notices = await db.database.prisma.notice.findMany({ where: { endpointId }, orderBy: { occurredAt: "asc" } });
    expect(notices.every(({ type }) => type === "exhausted")).toBe(true);
    return notices.map(({ details }) => (details as { deliveries: number }).deliveries);
  }

  test("an endpoint's first exhausted deliveries have a notice at once, and later ones a common notice an hour later", async () => {
    const [endpoint, other] = [randomUUID(), randomUUID()];
    await givenUp(endpoint, 1);
    await digest();
    expect(await countsOf(endpoint)).toEqual([1]);
    for (let minutes = 0; minutes < 59; minutes++) {
      clock.advance(60_000);
      await givenUp(endpoint, 2);
      await digest();
    }
    expect(await countsOf(endpoint)).toEqual([1]);
    await givenUp(other, 3);
    clock.advance(60_000);
    await digest();
    expect(await countsOf(endpoint)).toEqual([1, 118]);
    expect(await countsOf(other)).toEqual([3]);
    expect(await db.database.prisma.exhaustion.count()).toBe(0);
  });

  test("expired and exhausted deliveries have notices of their own, and neither delays the other", async () => {
    const endpointId = randomUUID();
    await givenUp(endpointId, 2);
    await givenUp(endpointId, 3, clock.now(), "expired");
    expect([await digest(), await digest(undefined, 100, "expired")]).toEqual([1, 1]);
    clock.advance(HOUR_MS);
    await givenUp(endpointId, 4, clock.now(), "expired");
    expect([await digest(), await digest(undefined, 100, "expired")]).toEqual([0, 1]);
    const notices = await db.database.prisma.notice.findMany({ where: { endpointId }, orderBy: { id: "asc" } });
    const noticed = notices.map(({ type, details }) => [type, (details as { deliveries: number }).deliveries]);
    expect(noticed).toHaveLength(3);
    expect(noticed).toEqual(
      expect.arrayContaining([
        ["exhausted", 2],
        ["expired", 3],
        ["expired", 4],
      ]),
    );
  });

  test("a digest says from when to when, and forgets an endpoint after an hour without given-up deliveries", async () => {
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

  test("publishers that make digests at once count each delivery once, and make one notice an endpoint", async () => {
    const endpoints = Array.from({ length: 30 }, () => randomUUID());
    for (const endpoint of endpoints) for (let index = 0; index < 3; index++) await givenUp(endpoint, 2);
    await Promise.all(Array.from({ length: 8 }, () => digest(db.database.queries, 20)));
    while ((await digest()) > 0);
    for (const endpoint of endpoints) expect(await countsOf(endpoint)).toEqual([6]);
  });

  test("a process that is killed while it makes a digest leaves all of it or nothing", async () => {
    const endpoint = randomUUID();
    await givenUp(endpoint, 2);
    const dying: Queries = {
      ...db.database.queries,
      // PostgreSQL carries it out, and its answer is lost.
      $executeRaw: async (strings, ...values) => {
        await db.database.queries.$executeRaw(strings, ...values);
        throw new Error("killed");
      },
    };
    await expect(digest(dying)).rejects.toThrow("killed");
    await digest();
    expect(await countsOf(endpoint)).toEqual([2]);
    // A statement that fails undoes all of it: here the notice has no place.
    clock.advance(HOUR_MS);
    await givenUp(endpoint, 3);
    await db.database.prisma
      .$executeRaw`alter table notice add constraint full_up check (details ->> 'deliveries' <> '3')`;
    await expect(digest()).rejects.toThrow("full_up");
    await db.database.prisma.$executeRaw`alter table notice drop constraint full_up`;
    await digest();
    expect(await countsOf(endpoint)).toEqual([2, 3]);
  });

  test("rows that wait for the next period are not read again and again: one row is read for each endpoint", async () => {
    const endpointIds = Array.from({ length: 5 }, () => randomUUID());
    for (const endpointId of endpointIds) await givenUp(endpointId, 1);
    expect(await digest()).toBe(5);
    await db.database.prisma.$executeRaw`
    insert into exhaustion (endpoint_id, state, organization_id, endpoint_name, endpoint_url, deliveries, first_at, last_at)
    select id, 'exhausted', 'acme', 'Billing', 'https://receiver.test/hooks', 1, ${clock.now()}, ${clock.now()}
    from unnest(${endpointIds}::uuid[]) as endpoint (id), generate_series(1, 2000)`;
    await db.database.prisma.$executeRaw`analyze exhaustion`;
    // Some pages for each endpoint; its rows have some hundred pages in all.
    expect(await pagesRead(db.database.queries, digest)).toBeLessThan(60);
    clock.advance(HOUR_MS);
    expect(await digest()).toBe(5);
    expect(await countsOf(endpointIds[0] ?? "")).toEqual([1, 2_000]);
  });
});
