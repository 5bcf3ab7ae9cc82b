import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { declareTopology, names as namesOf } from "@herald/common/broker/topology";
import { eventually } from "@herald/dev/harness/eventually";
import { insertEndpoint } from "@herald/dev/harness/rows";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { createEmitter, newEvent } from "@herald/emitter";
import { describe, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { apiClient } from "../../../src/herald/api-client.ts";
import { startServiceProcess } from "../../../src/herald/processes.ts";
import { chartLimit, peakOf, SERVE_MEBIBYTES } from "../../../src/herald/readings.ts";
import { heraldSettings } from "../../../src/herald/settings.ts";
import { useTestEnvironment } from "../../journeys/test-environment.ts";
import { unitEnvironment } from "../operations/project-files.ts";

const db = useDatabase();
const broker = useBroker();

const EVENTS = 2_000;
const EVENT_BYTES = 256 * 1024;
const AT_ONCE = 20;
const STALL_MS = 20_000;
/** As a publisher asks for: messages of one inbox queue that the broker sends before the first is settled. */
const PREFETCH = 500;
/** The most expensive characters: two bytes each in memory, and quotes and backslashes double on the way to PostgreSQL. */
const COSTLY = '"\\é€';

function largestEvent(organizationId: string) {
  const event = (text: string) =>
    newEvent({
      organizationId,
      type: "WorkItemCompleted",
      entityType: "WorkItem",
      entityId: randomUUID(),
      data: { text },
    });
  const envelope = Buffer.byteLength(JSON.stringify(event("")));
  const each = Buffer.byteLength(JSON.stringify(COSTLY)) - 2;
  return event(COSTLY.repeat(Math.floor((EVENT_BYTES - envelope) / each)));
}

test("regression: a publisher inside the chart's memory limits does not die of large bodies while PostgreSQL stalls, and loses none", async () => {
  const limit = chartLimit("publisher");
  const names = namesOf(broker.namespace);
  const connection = await connect(broker.url);
  const channel = await connection.createChannel();
  await declareTopology(channel, broker.namespace);
  const waiting = async () => {
    const depths = await Promise.all(names.eventQueues.map((queue) => channel.checkQueue(queue)));
    return depths.reduce((sum, { messageCount }) => sum + messageCount, 0);
  };
  const { prisma } = db.database;
  const organizations = ["org-1", "org-2", "org-3"];
  for (const organizationId of organizations) await insertEndpoint(prisma, { organizationId });
  const emitter = createEmitter({ url: broker.url, namespace: broker.namespace, timeoutMs: 120_000 });
  let emitted = 0;
  const emitNext = async () => {
    while (emitted < EVENTS) {
      await emitter.emit(largestEvent(organizations[emitted++ % organizations.length] as string));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, emitNext));
  await emitter.close();

  const publisher = await startServiceProcess(
    "publisher",
    {
      ...heraldSettings({ databaseUrl: db.url, amqpUrl: broker.url, namespace: broker.namespace, caFile: "" }),
      MEMORY_MIB: String(limit),
    },
    { untilReady: false },
  );
  const { pid } = publisher.process;
  let ended = false;
  void publisher.process.exited.then(() => {
    ended = true;
  });
  try {
    await prisma.$transaction(
      async (transaction) => {
        await transaction.$executeRawUnsafe("lock table business_event in access exclusive mode");
        await publisher.ready();
        await eventually(async () => expect(await waiting()).toBeLessThan(EVENTS));
        // A fixed wait, for what must not happen.
        await sleep(STALL_MS);
        expect(ended).toBe(false);
        // The broker has sent no more than the prefetch of each queue. The publisher's memory, below, shows that it does not read all of that.
        expect(await waiting()).toBeGreaterThanOrEqual(EVENTS - organizations.length * PREFETCH);
      },
      { timeout: 120_000 },
    );
    const stalled = peakOf(pid);
    await eventually(async () => expect(await prisma.businessEvent.count()).toBe(EVENTS), {
      timeoutMs: 900_000,
      intervalMs: 500,
    });
    expect(await prisma.delivery.count()).toBe(EVENTS);
    const peak = peakOf(pid);
    process.stderr.write(
      `publisher: ${stalled.toFixed()} MiB while PostgreSQL stalled, ${peak.toFixed()} MiB at its peak; its limit is ${limit} MiB\n`,
    );
    expect(ended).toBe(false);
    expect(peak).toBeLessThan(limit);
    expect((await channel.checkQueue(names.rejectedQueue)).messageCount).toBe(0);
  } finally {
    await publisher.stop();
    await connection.close();
  }
}, 1_200_000);

describe("herald serve", () => {
  const ENDPOINTS = 5;
  const ROUNDS = 50;
  const EVENTS_A_ROUND = 10;

  const environment = useTestEnvironment({ dispatcher: false, publisher: false });

  /** The settings of the unit that decide how much is held in memory at once. */
  function memorySettings(): Record<string, string> {
    const decides = /^(DATABASE_POOL_SIZE|MEMORY_MIB)$/;
    return Object.fromEntries(Object.entries(unitEnvironment()).filter(([name]) => decides.test(name)));
  }

  test("herald serve stays under 200 MiB while events, manual deliveries and an admin's reads go on, as its unit starts it", async () => {
    const { receiver, emitter } = environment;
    const serve = await environment.startProcess("serve", memorySettings());
    const { organizationId } = environment.api;
    const api = await apiClient(`http://127.0.0.1:${serve.port}`, organizationId, { untilAvailable: true });
    const endpoints = [];
    for (let index = 0; index < ENDPOINTS; index++) {
      endpoints.push((await api.create({ url: `${receiver.url}/${index}` })).endpoint);
    }
    let expected = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const occurredAtUtc = new Date().toISOString();
      const events = Array.from({ length: EVENTS_A_ROUND }, () =>
        environment.event({ occurredAtUtc, data: { text: "x".repeat(1_000) } }),
      );
      await Promise.all(events.map((event) => emitter.emit(event)));
      const endpoint = endpoints[round % ENDPOINTS] as (typeof endpoints)[number];
      expected += EVENTS_A_ROUND * ENDPOINTS;
      // The API of the environment is at work too, so this one allows 30 in a minute.
      if (round % 2 === 0) {
        await api.deliver(endpoint.id, "WorkItemCompleted", "{}");
        expected += 1;
      }
      await api.list();
      await receiver.received(expected);
    }
    const peak = peakOf(serve.process.pid);
    process.stderr.write(`herald serve: ${peak.toFixed()} MiB at its peak; its limit is ${SERVE_MEBIBYTES} MiB\n`);
    expect(peak).toBeLessThan(SERVE_MEBIBYTES);
  }, 600_000);
});
