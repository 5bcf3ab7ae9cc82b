import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { startEndingPostgres } from "@herald/dev/harness/ending-postgres";
import { eventually } from "@herald/dev/harness/eventually";
import { useBroker } from "@herald/dev/harness/use-broker";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { type Channel, type ChannelModel, connect } from "amqplib";
import { Pool } from "pg";
import { bucketOf } from "../src/encode-event.ts";
import { createEmitter, type EmittedEvent, type Emitter, type NewEvent, NotSentError, newEvent } from "../src/index.ts";
import {
  createOutbox,
  type Relay,
  type RelayOptions,
  readOutboxLag,
  replayOutbox,
  startRelay,
} from "../src/outbox/index.ts";
import { OUTBOX_DATABASES, type OutboxDatabase } from "./outbox-databases.ts";

describe.each(Object.entries(OUTBOX_DATABASES))("an outbox in %s", (_name, { dialect, use }) => {
  // Hooks run in their order: this one runs before those of the harness, which fail on connections that are left open.
  afterAll(async () => {
    await emitter.close();
    await admin.close();
    await db.close();
  });

  const broker = useBroker();
  const open = use();
  const exchange = `${broker.namespace}.events`;
  const queue = `${broker.namespace}.inbox`;
  const outbox = createOutbox({ dialect });

  let db: OutboxDatabase;
  let admin: ChannelModel;
  let channel: Channel;
  let emitter: Emitter;
  const relays: Relay[] = [];
  const processes: ChildProcess[] = [];

  beforeAll(async () => {
    db = await open();
    admin = await connect(broker.url);
    channel = await admin.createChannel();
    await channel.assertExchange(exchange, "topic", { durable: true });
    await channel.assertQueue(queue, { durable: true, arguments: { "x-queue-type": "quorum" } });
    await channel.bindQueue(queue, exchange, "#");
    emitter = createEmitter({ url: broker.url, namespace: broker.namespace });
  });

  afterEach(async () => {
    await Promise.all(relays.splice(0).map((relay) => relay.close()));
    for (const process of processes.splice(0)) {
      process.kill("SIGKILL");
      if (process.exitCode === null && process.signalCode === null) await once(process, "exit");
    }
    await db.run("truncate table herald_outbox");
    await channel.purgeQueue(queue);
  });

  function start(changes: Partial<RelayOptions> = {}): Relay {
    const relay = startRelay({ pool: db.relayPool, emitter, pollIntervalMs: 20, ...changes });
    relays.push(relay);
    return relay;
  }

  const anEvent = (changes: Partial<NewEvent> = {}): EmittedEvent =>
    newEvent({
      organizationId: "acme",
      type: "RiskCreated",
      entityType: "Risk",
      entityId: randomUUID(),
      ...changes,
    });

  /** A business transaction with events in it. */
  async function transaction(events: EmittedEvent[], end: "commit" | "rollback"): Promise<void> {
    await db.transaction(async (client) => {
      for (const event of events) await outbox.add(client, event);
    }, end);
  }

  async function waiting(): Promise<number> {
    return (await db.run("select 1 from herald_outbox where sent_at is null and refused is null")).length;
  }

  async function waitUntilSent(): Promise<void> {
    await eventually(async () => expect(await waiting()).toBe(0));
  }

  async function arrivedIds(): Promise<string[]> {
    const ids: string[] = [];
    for (let message = await channel.get(queue, { noAck: true }); message; ) {
      ids.push((JSON.parse(message.content.toString()) as EmittedEvent).id);
      message = await channel.get(queue, { noAck: true });
    }
    return ids;
  }

  const idsOf = (events: EmittedEvent[]) => events.map(({ id }) => id).sort();

  test("an event is emitted when its transaction commits, and not when it is rolled back", async () => {
    start();
    const committed = Array.from({ length: 20 }, () => anEvent());
    for (const event of committed) {
      await transaction([anEvent()], "rollback");
      await transaction([event], "commit");
    }
    await waitUntilSent();
    expect((await arrivedIds()).sort()).toEqual(idsOf(committed));
  });

  test("an event in the outbox keeps its trace context", async () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await outbox.add(db.pool, anEvent(), { traceparent });
    start();
    await waitUntilSent();
    const message = await channel.get(queue, { noAck: true });
    expect(message).toMatchObject({ properties: { headers: { traceparent } } });
  });

  test("an event that breaks the contract does not get into the outbox, and the transaction goes on", async () => {
    await db.transaction(async (client) => {
      await expect(outbox.add(client, { ...anEvent(), id: "7" })).rejects.toThrow("id must be a UUID");
      await outbox.add(client, anEvent());
    });
    start();
    await waitUntilSent();
    expect(await arrivedIds()).toHaveLength(1);
  });

  test("several relays at once send each event once", async () => {
    const events = Array.from({ length: 1000 }, () => anEvent());
    for (let i = 0; i < events.length; i += 100) await transaction(events.slice(i, i + 100), "commit");
    for (let i = 0; i < 3; i++) start({ batchSize: 50 });
    await waitUntilSent();
    expect((await arrivedIds()).sort()).toEqual(idsOf(events));
  });

  test("wake ends the rest of a relay", async () => {
    const relay = start({ pollIntervalMs: 600_000 });
    const event = anEvent();
    // The first look may come before or after the commit; the second one comes by waking.
    await transaction([event], "commit");
    await eventually(async () => {
      relay.wake();
      expect(await waiting()).toBe(0);
    });
  });

  test("an event that the broker does not take stays in the outbox until the broker takes it", async () => {
    const failures: string[] = [];
    await transaction([anEvent(), anEvent()], "commit");
    await channel.unbindQueue(queue, exchange, "#");
    start({ onFailure: ({ message }) => failures.push(message) });
    await eventually(() => expect(failures).toContainEqual(expect.stringContaining("no queue takes RiskCreated")));
    expect(await waiting()).toBe(2);
    await channel.bindQueue(queue, exchange, "#");
    await waitUntilSent();
    expect(await arrivedIds()).toHaveLength(2);
  });

  test("a row that is no event stays with the reason, and does not hold up other events", async () => {
    await db.run("insert into herald_outbox (event) values (?), ('not JSON')", [
      JSON.stringify({ ...anEvent(), data: { changes: { "a\u0000'b": 7 } } }),
    ]);
    await transaction([anEvent()], "commit");
    start();
    await eventually(async () => {
      const rows = await db.run("select refused from herald_outbox order by number");
      expect(rows).toEqual([
        { refused: expect.stringContaining("data.changes.a\ufffd'b must be") },
        { refused: expect.stringContaining("must be JSON") },
        { refused: null },
      ]);
    });
    expect(await arrivedIds()).toHaveLength(1);
  });

  test("a relay survives the loss of its database connection", async () => {
    const failures: Error[] = [];
    start({ onFailure: (error) => failures.push(error) });
    await transaction([anEvent()], "commit");
    await waitUntilSent();
    await eventually(async () => {
      await db.endConnections();
      expect(failures.length).toBeGreaterThan(0);
    });
    await transaction([anEvent()], "commit");
    await waitUntilSent();
    expect(await arrivedIds()).toHaveLength(2);
  });

  /** An emitter that the broker refuses some events of. */
  function refusing(isRefused: (event: EmittedEvent) => boolean): Pick<Emitter, "emitJson"> {
    return {
      emitJson: async (json, options) => {
        const event = JSON.parse(json) as EmittedEvent;
        if (isRefused(event)) throw new NotSentError("refused", "the queue is full", { what: `event ${event.id}` });
        await emitter.emitJson(json, options);
      },
    };
  }

  /** Events of one bucket, which the broker takes as many of as it has room for, and events of another one. */
  const FULL = "full";
  const FREE = "others";
  const ofFull = ({ organizationId }: EmittedEvent) => organizationId === FULL;

  async function fill(count: number): Promise<EmittedEvent[]> {
    const events = Array.from({ length: count }, () => anEvent({ organizationId: FULL }));
    for (let first = 0; first < count; first += 500) {
      const step = events.slice(first, first + 500);
      await db.run(
        `insert into herald_outbox (event) values ${step.map(() => "(?)").join(", ")}`,
        step.map((event) => JSON.stringify(event)),
      );
    }
    return events;
  }

  test("a bucket that the broker takes nothing of holds up no other one's events, however many stand in front, and costs one try a second", async () => {
    expect(bucketOf(FULL)).not.toBe(bucketOf(FREE));
    const clock = { ms: 0 };
    let isFull = true;
    let refusals = 0;
    await fill(1_000);
    const free = Array.from({ length: 100 }, () => anEvent({ organizationId: FREE }));
    await transaction(free, "commit");
    const isRefused = (event: EmittedEvent) => {
      if (!isFull || !ofFull(event)) return false;
      refusals++;
      return true;
    };
    start({ monotonicMs: () => clock.ms, emitter: refusing(isRefused) });
    await eventually(async () => expect(await waiting()).toBe(1_000));
    expect((await arrivedIds()).sort()).toEqual(idsOf(free));
    // Only those of the batch in which it turned out.
    expect(refusals).toBe(200);

    for (let second = 1; second <= 3; second++) {
      clock.ms += 1_000;
      await eventually(() => expect(refusals).toBe(200 + second));
    }
    // What comes meanwhile is sent, with the clock at rest and no try.
    const later = anEvent({ organizationId: FREE });
    await transaction([later], "commit");
    await eventually(async () => expect(await waiting()).toBe(1_000));
    expect(await arrivedIds()).toEqual([later.id]);
    expect(refusals).toBe(203);

    isFull = false;
    clock.ms += 1_000;
    await waitUntilSent();
    await eventually(async () => expect(await queueLength()).toBe(1_000));
  });

  test("a bucket that the broker takes some of, again and again, gets all of its events through", async () => {
    const clock = { ms: 0 };
    let room = 0;
    const events = await fill(600);
    start({
      batchSize: 50,
      monotonicMs: () => clock.ms,
      emitter: refusing(() => {
        room--;
        return room < 0;
      }),
    });
    await eventually(async () => {
      room = 120;
      clock.ms += 1_000;
      expect(await waiting()).toBe(0);
    });
    expect((await arrivedIds()).sort()).toEqual(idsOf(events));
  });

  test("an event that commits late, behind those of a bucket that is held, is sent", async () => {
    const clock = { ms: 0 };
    const late = anEvent({ organizationId: FREE });
    await db.transaction(async (client) => {
      await outbox.add(client, late);
      await fill(100);
      const early = anEvent({ organizationId: FREE });
      await transaction([early], "commit");
      start({ batchSize: 10, monotonicMs: () => clock.ms, emitter: refusing(ofFull) });
      await eventually(async () => expect(await waiting()).toBe(100));
      expect(await arrivedIds()).toEqual([early.id]);
    });
    await eventually(async () => {
      clock.ms += 1_000;
      expect(await waiting()).toBe(100);
      expect(await db.run("select 1 from herald_outbox where sent_at is not null")).toHaveLength(2);
    });
    expect(await arrivedIds()).toEqual([late.id]);
  });

  test("an event is sent as another program wrote it, with numbers that JavaScript can't hold", async () => {
    const json = JSON.stringify(anEvent()).replace(/"data":.*/, '"data":{"cost":1.10, "big":12345678901234567890}}');
    await db.run("insert into herald_outbox (event, traceparent) values (?, 'none')", [json]);
    start();
    await waitUntilSent();
    const message = await channel.get(queue, { noAck: true });
    if (message === false) throw new Error("Nothing has arrived.");
    expect(message.content.toString()).toBe(json);
    expect(message.properties.headers?.traceparent).toBeUndefined();
  });

  test("while a relay waits for the broker, it keeps no row of the database from being cleaned away", async () => {
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    let hasBegun = false;
    await transaction([anEvent()], "commit");
    start({
      emitter: {
        emitJson: async (json, options) => {
          hasBegun = true;
          await opened;
          await emitter.emitJson(json, options);
        },
      },
    });
    try {
      await eventually(async () => {
        expect(hasBegun).toBe(true);
        expect(await db.relaysThatWait()).toEqual([{ held: false }]);
      });
    } finally {
      open();
    }
    await waitUntilSent();
  });

  test("what was sent is kept for so many days, and then erased in steps", async () => {
    await db.run(
      `insert into herald_outbox (event, sent_at)
     select '{}', ${db.ago("86400 * case when n <= 2500 then 8 else 6 end")} from ${db.series(2_510)}`,
    );
    await db.run(`insert into herald_outbox (event, refused, added_at) values ('{}', 'why', ${db.ago(365 * 86_400)})`);
    const relay = start({ keepDays: 7 });
    await eventually(async () => {
      expect(await db.run("select 1 from herald_outbox where sent_at is not null")).toHaveLength(10);
    });
    await relay.close();
    expect(await db.run("select 1 from herald_outbox where refused is not null")).toHaveLength(1);
  });

  test("a replay sends again what was sent since a time, once, while relays are at work", async () => {
    const early = Array.from({ length: 5 }, () => anEvent());
    const late = Array.from({ length: 1_100 }, () => anEvent());
    start();
    await transaction(early, "commit");
    await waitUntilSent();
    await db.run(`update herald_outbox set sent_at = ${db.ago(7_200)}`);
    await transaction(late, "commit");
    await waitUntilSent();
    await channel.purgeQueue(queue);
    const steps: number[] = [];
    const since = new Date(Date.now() - 3_600_000);
    expect(await replayOutbox({ pool: db.pool, since, onStep: (rows) => steps.push(rows) })).toBe(1_100);
    expect(steps).toEqual([1_000, 1_100]);
    await waitUntilSent();
    expect((await arrivedIds()).sort()).toEqual(idsOf(late));
  });

  test("the lag of an outbox says what waits, since when, and what was refused", async () => {
    expect(await readOutboxLag({ pool: db.pool })).toEqual({ waiting: 0, oldestSeconds: null, refused: 0 });
    await db.run(
      `insert into herald_outbox (event, added_at, sent_at, refused) values
     ('{}', ${db.ago(3_600)}, null, null), ('{}', ${db.ago(0)}, null, null),
     ('{}', ${db.ago(86_400)}, ${db.ago(0)}, null), ('{}', ${db.ago(86_400)}, null, 'why')`,
    );
    const { oldestSeconds, ...counts } = await readOutboxLag({ pool: db.pool });
    expect(counts).toEqual({ waiting: 2, refused: 1 });
    expect(oldestSeconds).toBeGreaterThanOrEqual(3_600);
    expect(oldestSeconds).toBeLessThan(7_200);
  });

  test("an outbox may have another name and a schema, and a missing one is told", async () => {
    // MariaDB's schemas are the whole server's, so the name is one that nobody else has.
    const schema = `Product_${randomUUID()}`;
    const table = `${schema}.Outbox`;
    await db.makeTable(table);
    await db.makeTable(table);
    const event = anEvent();
    await createOutbox({ table, dialect }).add(db.pool, event);
    const failures: string[] = [];
    start({ table: `${schema}.Missing`, onFailure: ({ message }) => failures.push(message) });
    start({ table });
    await eventually(async () => expect(await arrivedIds()).toEqual([event.id]));
    await eventually(() => expect(failures.join("\n")).toContain(`${schema}.Missing`));
  });

  test("relays that are killed lose no event", async () => {
    const committed: EmittedEvent[] = [];
    let writing = true;
    const writer = (async () => {
      while (writing) {
        const events = Array.from({ length: 20 }, () => anEvent());
        const end = Math.random() < 0.3 ? "rollback" : "commit";
        await transaction(events, end);
        if (end === "commit") committed.push(...events);
      }
    })();
    for (let kill = 0; kill < 3; kill++) {
      const relay = startRelayProcess();
      const before = await queueLength();
      // In the middle of its work: some are confirmed, some on their way, some not yet read.
      await eventually(async () => expect(await queueLength()).toBeGreaterThan(before + 100));
      relay.kill("SIGKILL");
      await once(relay, "exit");
    }
    writing = false;
    await writer;
    start();
    await waitUntilSent();
    const arrived = new Set(await arrivedIds());
    expect([...arrived].sort()).toEqual(idsOf(committed));
  });

  const queueLength = async () => (await channel.checkQueue(queue)).messageCount;

  /** A relay in a process of its own, which runs the built packages. */
  function startRelayProcess(): ChildProcess {
    const program = `
    import { createEmitter } from "@herald/emitter";
    import { startRelay } from "@herald/emitter/outbox";
    ${db.program.imports}
    const [, url, namespace, databaseUrl] = process.argv;
    const pool = ${db.program.open};
    startRelay({ pool, emitter: createEmitter({ url, namespace }), batchSize: 50 });
  `;
    const child = spawn(
      process.execPath,
      ["--input-type=module", "--eval", program, broker.url, broker.namespace, db.url],
      { cwd: new URL("..", import.meta.url), stdio: "inherit" },
    );
    processes.push(child);
    return child;
  }
});

test("a connection that ends in the moment in which it is handed out is a failure of the relay, not the end of its process", async () => {
  const server = await startEndingPostgres();
  const pool = new Pool({ connectionString: server.url });
  const failures: Error[] = [];
  const relay = startRelay({ pool, emitter: { emitJson: async () => {} }, onFailure: (error) => failures.push(error) });
  await eventually(() => expect(failures).not.toHaveLength(0));
  await relay.close();
  await pool.end();
  await server.close();
});
