import { Prisma } from "@herald/common/database/generated/client";
import { ownerOf, shardOf } from "@herald/common/database/shards";
import { newSealingKeys } from "@herald/common/security/sealing-keys";
import { secretBox } from "@herald/common/security/secret-box";
import { eventually } from "@herald/dev/harness/eventually";
import { insertDelivery, insertEndpoint } from "@herald/dev/harness/rows";
import { whileLocked } from "@herald/dev/harness/use-database";
import { freePort } from "@herald/dev/stack/ports";
import { afterEach, describe, expect, test } from "@jest/globals";
import { BEGINNING, readDue } from "../src/sql/read-due.ts";
import { SECRET_KEYS, useDispatchers } from "./dispatchers.ts";

const { db, receiver, start, stop, insertEndpointAt, insertDeliveries, tell } = useDispatchers();

test("with a rate, all dispatchers together begin no more attempts a second to an endpoint, and the whole backlog arrives", async () => {
  const { prisma } = db.database;
  const settings = { ENDPOINT_RATE: "10" };
  const endpoint = await insertEndpointAt(receiver.url);
  await insertDeliveries(endpoint, 50);
  const begun = Date.now();
  await Promise.all([start(settings), start(settings)]);
  await eventually(async () => expect(await prisma.delivery.count({ where: { state: "succeeded" } })).toBe(50));
  const { attemptedAt } = await prisma.delivery.findFirstOrThrow({ orderBy: { attemptedAt: "desc" } });
  // The tokens of a second come at once, and perhaps again if the shard changed hands. The others come at ten a second.
  expect(Number(attemptedAt) - begun).toBeGreaterThanOrEqual(((50 - 20) / 10) * 1_000);
});

test("deliveries that waited for a dispatcher count as late, as many as the endpoint may have at once", async () => {
  const endpoint = await insertEndpointAt(receiver.url);
  await insertDeliveries(endpoint, 3, { createdAt: new Date(Date.now() - 60_000) });
  const port = await freePort();
  await start({ OPERATIONS_PORT: String(port), ENDPOINT_CONCURRENCY: "2" });
  await receiver.received(3);
  await eventually(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { connection: "close" } });
    const metrics = await answer.text();
    const figure = (name: string) =>
      Number(new RegExp(`^herald_first_attempt_delay_seconds_${name}[^}]*} (.*)$`, "m").exec(metrics)?.[1]);
    // The third one waits for the receiver as well.
    expect(figure("count")).toBeGreaterThanOrEqual(2);
    expect(figure('bucket\\{le="10"')).toBe(0);
  });
});

/** Stores an endpoint with deliveries that are due, and returns the endpoint's id. */
async function endpointWith(path: string, count: number): Promise<string> {
  const endpoint = await insertEndpointAt(`${receiver.url}/${path}`);
  await insertDeliveries(endpoint, count);
  return endpoint.id;
}

const countOf = (path: string) => receiver.requests.filter((request) => request.path === `/${path}`).length;

test("an endpoint never has more attempts in flight than its cap, and its backlog goes on as attempts end", async () => {
  let inFlight = 0;
  let most = 0;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  receiver.answerWith(async () => {
    most = Math.max(most, ++inFlight);
    await released;
    inFlight--;
    return { status: 200 };
  });
  await start({ ENDPOINT_CONCURRENCY: "4" });
  await endpointWith("busy", 60);
  await eventually(() => expect(inFlight).toBe(4));
  // A fixed wait, to show an absence: no fifth attempt begins.
  await new Promise((resolve) => setTimeout(resolve, 500));
  release();
  await eventually(() => expect(countOf("busy")).toBe(60));
  expect(most).toBe(4);
  await eventually(async () =>
    expect(await db.database.prisma.delivery.count({ where: { state: "succeeded" } })).toBe(60),
  );
});

test("regression: more failing endpoints of one organization than a dispatcher knows hold up no retry of another one", async () => {
  receiver.answerWith(() => ({ status: countOf("sound") === 2 ? 200 : 500 }));
  await endpointWith("sound", 1);
  // No sweep comes after the start, so that the dispatcher itself has to know the retry.
  await start({ RETRY_DELAYS_SECONDS: "5,60,60,60" }, { sweepIntervalMs: 600_000, maxEndpoints: 10 });
  await eventually(() => expect(countOf("sound")).toBe(1));
  for (let index = 0; index < 30; index++) {
    const failing = await insertEndpointAt(`${receiver.url}/failing`, { organizationId: "one with many" });
    await insertDeliveries(failing, 1);
    const target = { endpointId: failing.id, organizationId: failing.organizationId };
    await tell(failing.id, { stored: true, events: [], deliveries: [], work: [target] });
  }
  await eventually(() => expect(countOf("failing")).toBe(30));
  await eventually(() => expect(countOf("sound")).toBe(2));
});

test("an endpoint whose secret can't be opened is left alone, and its row says so until one opens it", async () => {
  const { prisma } = db.database;
  const endpointId = await endpointWith("sealed", 40);
  await prisma.webhookEndpoint.update({ where: { id: endpointId }, data: { sealedSecret: "sealed by another key" } });
  const dispatcher = await start({ ENDPOINT_CONCURRENCY: "4" });
  const quarantined = { enabled: true, consecutiveFailures: 0, quarantinedAt: expect.any(Date) };
  await eventually(async () =>
    expect(await prisma.webhookEndpoint.findUnique({ where: { id: endpointId } })).toMatchObject(quarantined),
  );
  expect(countOf("sealed")).toBe(0);

  const sealedSecret = secretBox(SECRET_KEYS).seal("the secret again", endpointId);
  await prisma.webhookEndpoint.update({ where: { id: endpointId }, data: { sealedSecret } });
  await stop(dispatcher);
  await start({ ENDPOINT_CONCURRENCY: "4" });
  await eventually(async () =>
    expect(await prisma.webhookEndpoint.count({ where: { id: endpointId, quarantinedAt: null } })).toBe(1),
  );
  const delivered = { endpointId, state: "succeeded", attemptCount: 1 } as const;
  await eventually(async () => expect(await prisma.delivery.count({ where: delivered })).toBe(40));
});

test("a dispatcher with another key under the right id gives its shards to one that opens the secrets, and every delivery arrives", async () => {
  await start();
  await start({ SECRET_KEYS: newSealingKeys("test").SECRET_KEYS });
  const endpoints = await Promise.all(
    Array.from({ length: 16 }, (_, each) => insertEndpointAt(`${receiver.url}/${each}`)),
  );
  const { prisma, queries } = db.database;
  await eventually(async () => {
    const owners = await Promise.all(endpoints.map((endpoint) => ownerOf(queries, endpoint.id)));
    expect(new Set(owners).size).toBe(2);
  });
  for (const endpoint of endpoints) await insertDeliveries(endpoint, 1);
  await eventually(async () => expect(await prisma.delivery.count({ where: { state: "succeeded" } })).toBe(16));
  await eventually(async () => expect(await prisma.webhookEndpoint.count({ where: { quarantinedAt: null } })).toBe(16));
});

describe("a delivery whose row another session has locked", () => {
  const lockOf = (id: string) => Prisma.sql`select 1 from delivery where id = ${id}::uuid for update`;
  const storedOf = (endpointId: string) =>
    db.database.prisma.delivery.count({ where: { endpointId, state: "succeeded", attemptCount: 1 } });

  test("a locked row holds up its endpoint and no other, and takes no permit", async () => {
    const { prisma } = db.database;
    const waves = [1, 2].map(() => Promise.withResolvers<void>());
    receiver.answerWith(async ({ path }) => {
      if (path === "/waiting") await waves[countOf("waiting") <= 4 ? 0 : 1]?.promise;
      return { status: 200 };
    });
    await start({ ENDPOINT_CONCURRENCY: "4" }, { bounds: { inFlight: 8 }, sweepIntervalMs: 100 });
    const waiting = await insertEndpointAt(`${receiver.url}/waiting`);
    await insertDeliveries(waiting, 40);
    await eventually(() => expect(countOf("waiting")).toBe(4));
    const locked = String(receiver.requests[0]?.headers["x-service-delivery-id"]);
    await whileLocked(prisma, lockOf(locked), async () => {
      waves[0]?.resolve();
      // It was found locked when those behind it are stored.
      await eventually(async () => expect(await storedOf(waiting.id)).toBe(3));
      waves[1]?.resolve();
      await eventually(async () => expect(await storedOf(waiting.id)).toBe(countOf("waiting") - 1));
      const other = await endpointWith("other", 40);
      await eventually(async () => expect(await storedOf(other)).toBe(40));
      expect(countOf("waiting")).toBeLessThan(20);
    });
    await eventually(async () => expect(await storedOf(waiting.id)).toBe(40));
    expect(receiver.requests).toHaveLength(80);
  });

  test("a stop waits for the lock's end, and nothing that was answered is sent again", async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    receiver.answerWith(async () => {
      await answered;
      return { status: 200 };
    });
    const dispatcher = await start();
    const endpointId = await endpointWith("stopped", 2);
    await receiver.received(2);
    const locked = String(receiver.requests[0]?.headers["x-service-delivery-id"]);
    let stopped: Promise<void> | undefined;
    await whileLocked(db.database.prisma, lockOf(locked), async () => {
      answer();
      await eventually(async () => expect(await storedOf(endpointId)).toBe(1));
      stopped = stop(dispatcher);
    });
    await stopped;
    expect(await storedOf(endpointId)).toBe(2);
    expect(receiver.requests).toHaveLength(2);
  });
});

describe("dispatching that an operator has stopped", () => {
  afterEach(goOn);

  /** As `herald dispatch stop` and `herald dispatch start`. */
  async function stopDispatching(): Promise<void> {
    await db.database.prisma.shard.updateMany({ data: { stoppedAt: new Date() } });
  }
  async function goOn(): Promise<void> {
    await db.database.prisma.shard.updateMany({ data: { stoppedAt: null } });
  }
  const owned = () => db.database.prisma.shard.count({ where: { owner: { not: null } } });

  test("a dispatcher that starts while dispatching is stopped attempts nothing, and goes on when it is started again", async () => {
    await stopDispatching();
    const endpoint = await insertEndpointAt(`${receiver.url}/`);
    await insertDeliveries(endpoint, 3);
    await start({}, { sweepIntervalMs: 50 });
    // A fixed wait, to show an absence: heartbeats and sweeps come and go meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect([receiver.requests, await owned()]).toEqual([[], 0]);
    expect(await db.database.prisma.due.count({ where: { interruptions: 0 } })).toBe(3);

    await goOn();
    await receiver.received(3);
    expect(await owned()).toBe(256);
  });

  test("a dispatcher that runs gives up its shards when dispatching is stopped, those with attempts under way when they have ended", async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    receiver.answerWith(async () => {
      await answered;
      return { status: 200 };
    });
    await start({}, { sweepIntervalMs: 50 });
    const endpoint = await insertEndpointAt(`${receiver.url}/`);
    await insertDeliveries(endpoint, 1);
    await receiver.received(1);
    await stopDispatching();
    await eventually(async () => expect(await owned()).toBe(1));
    await insertDeliveries(endpoint, 1);
    answer();
    await eventually(async () => expect(await owned()).toBe(0));
    expect(await db.database.prisma.delivery.count({ where: { state: "succeeded" } })).toBe(1);
    expect(receiver.requests).toHaveLength(1);
  });

  test("no row is read of a shard that is stopped, or that another dispatcher has taken since, even if its owner does not know it", async () => {
    const { prisma, queries } = db.database;
    const endpoint = await insertEndpoint(prisma);
    await insertDelivery(prisma, endpoint);
    const shard = shardOf(endpoint.id);
    const { epoch } = await prisma.shard.findUniqueOrThrow({ where: { id: shard } });
    const read = (epoch: number) =>
      readDue(queries, [{ endpointId: endpoint.id, shard, epoch, count: 10, after: BEGINNING }]);
    expect(await read(Number(epoch))).toHaveLength(1);
    expect(await read(Number(epoch) - 1)).toEqual([]);
    await stopDispatching();
    expect(await read(Number(epoch))).toEqual([]);
  });
});
