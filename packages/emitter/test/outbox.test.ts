import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { judgeEvent } from "@herald/contracts";
import { startEndingPostgres } from "@herald/dev/harness/ending-postgres";
import { eventually } from "@herald/dev/harness/eventually";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { type Channel, type ChannelModel, connect } from "amqplib";
import { Pool, type PoolClient } from "pg";
import { bucketOf } from "../src/encode-event.ts";
import { createEmitter, type EmittedEvent, type Emitter, NotSentError } from "../src/index.ts";
import {
  createOutbox,
  outboxTable,
  type Relay,
  type RelayOptions,
  RowsSetAsideError,
  readOutboxLag,
  replayOutbox,
  startRelay,
} from "../src/outbox/index.ts";
import { anEvent } from "./given.ts";

const RELAYS = "outbox-relays";

// Hooks run in their order: this one runs before those of the harness, which fail on connections that are left open.
afterAll(async () => {
  await emitter.close();
  await admin.close();
  await Promise.all([pool.end(), relayPool.end()]);
});

const broker = useBroker();
const at = useDatabase();
const exchange = `${broker.namespace}.events`;
const queue = `${broker.namespace}.inbox`;
const outbox = createOutbox();

let pool: Pool;
/** No other connections than those of relays are ended. */
let relayPool: Pool;
let admin: ChannelModel;
let channel: Channel;
let emitter: Emitter;
const relays: Relay[] = [];

beforeAll(async () => {
  pool = new Pool({ connectionString: at.url });
  relayPool = new Pool({ connectionString: at.url, application_name: RELAYS });
  // Without a listener, an idle connection that dies would end the process.
  relayPool.on("error", () => {});
  await pool.query(outboxTable());
  admin = await connect(broker.url);
  channel = await admin.createChannel();
  await channel.assertExchange(exchange, "topic", { durable: true });
  await channel.assertQueue(queue, { durable: true, arguments: { "x-queue-type": "quorum" } });
  await channel.bindQueue(queue, exchange, "#");
  emitter = createEmitter({ url: broker.url, namespace: broker.namespace });
});

afterEach(async () => {
  await Promise.all(relays.splice(0).map((relay) => relay.close()));
  await rowsOf("truncate table herald_outbox");
  await channel.purgeQueue(queue);
});

function start(changes: Partial<RelayOptions> = {}): Relay {
  const relay = startRelay({ pool: relayPool, emitter, pollIntervalMs: 20, ...changes });
  relays.push(relay);
  return relay;
}

const queueLength = async () => (await channel.checkQueue(queue)).messageCount;

async function rowsOf<Row>(sql: string, values: unknown[] = []): Promise<Row[]> {
  return (await pool.query(sql, values)).rows as Row[];
}

/** A business transaction. */
async function within(
  work: (client: PoolClient) => Promise<unknown>,
  end: "commit" | "rollback" = "commit",
): Promise<void> {
  const client = await pool.connect();
  await client.query("begin");
  await work(client);
  await client.query(end);
  client.release();
}

/** A business transaction with events in it. */
async function transaction(events: EmittedEvent[], end: "commit" | "rollback"): Promise<void> {
  await within(async (client) => {
    for (const event of events) await outbox.add(client, event);
  }, end);
}

async function waiting(): Promise<number> {
  return (await rowsOf("select 1 from herald_outbox where sent_at is null and refused is null")).length;
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
  await within((client) => outbox.add(client, anEvent(), { traceparent }));
  start();
  await waitUntilSent();
  const message = await channel.get(queue, { noAck: true });
  expect(message).toMatchObject({ properties: { headers: { traceparent } } });
});

test("an event that breaks the contract does not get into the outbox, and the transaction goes on", async () => {
  await within(async (client) => {
    await expect(outbox.add(client, { ...anEvent(), id: "7" })).rejects.toThrow("id must be a UUID");
    await outbox.add(client, anEvent());
  });
  start();
  await waitUntilSent();
  expect(await arrivedIds()).toHaveLength(1);
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

test("a row that is no event stays with the reason, is reported, and does not hold up other events", async () => {
  const failures: Error[] = [];
  await rowsOf("insert into herald_outbox (event) values ($1), ('not JSON')", [
    JSON.stringify({ ...anEvent(), data: { changes: { "a\u0000'b": 7 } } }),
  ]);
  await transaction([anEvent()], "commit");
  start({ onFailure: (error) => failures.push(error) });
  await eventually(async () => {
    const rows = await rowsOf("select refused from herald_outbox order by number");
    expect(rows).toEqual([
      { refused: expect.stringContaining("data.changes.a?'b must be") },
      { refused: expect.stringContaining("must be JSON") },
      { refused: null },
    ]);
  });
  expect(await arrivedIds()).toHaveLength(1);
  expect(failures).toEqual([expect.any(RowsSetAsideError)]);
  expect(failures[0]?.message).toMatch(
    /^2 rows of the outbox can't be sent and were set aside, row \d+ since .* must be/,
  );
});

test("policies that keep a relay from seeing or changing its rows are reported, and end nothing", async () => {
  const role = `relay_${randomUUID().slice(0, 8)}`;
  await rowsOf(`create role ${role}`);
  await rowsOf(`grant select, update, delete on herald_outbox to ${role}`);
  await rowsOf("alter table herald_outbox enable row level security");
  await transaction([anEvent()], "commit");
  const failures: string[] = [];
  const asRole = (client: PoolClient) => ({
    release: (destroy?: boolean) => client.release(destroy),
    query: (text: string, values?: unknown[]) =>
      client.query(text.replace(/^begin.*/, `$&; set local role ${role}`), values),
  });
  const limited: RelayOptions["pool"] = {
    connect: (taken) => relayPool.connect((error, client) => taken(error, client && asRole(client))),
  };
  start({ pool: limited, onFailure: ({ message }) => failures.push(message) });
  await eventually(() => expect(failures[0]).toContain("Row-level security hides herald_outbox"));
  await rowsOf(`create policy seen on herald_outbox for select to ${role} using (true)`);
  await eventually(() => expect(failures.at(-1)).toContain("No row of herald_outbox could be changed"));
  await rowsOf(`create policy all_rows on herald_outbox to ${role} using (true)`);
  await waitUntilSent();
  await rowsOf("drop policy seen on herald_outbox; drop policy all_rows on herald_outbox");
  await rowsOf(`alter table herald_outbox disable row level security; drop owned by ${role}; drop role ${role}`);
});

test("a relay survives the loss of its database connection", async () => {
  const failures: Error[] = [];
  start({ onFailure: (error) => failures.push(error) });
  await transaction([anEvent()], "commit");
  await waitUntilSent();
  await eventually(async () => {
    await rowsOf("select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1", [RELAYS]);
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
    await rowsOf(
      `insert into herald_outbox (event) values ${step.map((_, index) => `($${index + 1})`).join(", ")}`,
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
  // Events that arrive meanwhile are sent. The clock rests, so the bucket is not tried.
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
  await within(async (client) => {
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
    expect(await rowsOf("select 1 from herald_outbox where sent_at is not null")).toHaveLength(2);
  });
  expect(await arrivedIds()).toEqual([late.id]);
});

test.each(["UTC", "Asia/Kathmandu", "America/St_Johns"])(
  "the SQL of docs/emitting-events.md emits an event that happens now, by a connection whose time zone is %s",
  async (zone) => {
    const text = await readFile(new URL("../../../docs/emitting-events.md", import.meta.url), "utf8");
    const insert = /^insert into herald_outbox .*?;$/ms.exec(text)?.[0] ?? "";
    await within(async (client) => {
      await client.query(`set local timezone = '${zone}'`);
      await client.query("set local datestyle = 'German'");
      await client.query(insert);
    });
    start();
    await waitUntilSent();
    const { content } = (await channel.get(queue, { noAck: true })) || {};
    const now = new Date();
    expect(judgeEvent(content ?? Buffer.of(), { now, windowMs: 60_000 })).toMatchObject({
      kind: "event",
      event: { type: "WorkItemCompleted", occurredAtUtc: expect.stringMatching(/Z$/) },
    });
  },
);

test("an event is sent as another program wrote it, with numbers that JavaScript can't hold, whatever its row's number is", async () => {
  const json = JSON.stringify(anEvent()).replace(/"data":.*/, '"data":{"cost":1.10, "big":12345678901234567890}}');
  const insert = "insert into herald_outbox (number, event, traceparent) overriding system value";
  await rowsOf(`${insert} values (-7, $1, 'none')`, [json]);
  start();
  await waitUntilSent();
  const message = await channel.get(queue, { noAck: true });
  if (message === false) throw new Error("Nothing has arrived.");
  expect(message.content.toString()).toBe(json);
  expect(message.properties.headers?.traceparent).toBeUndefined();
});

test("while a relay waits for the broker, it keeps no row of the database from being cleaned away", async () => {
  let open: () => void = () => {};
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
      expect(
        await rowsOf(
          `select backend_xid is not null or backend_xmin is not null as held from pg_stat_activity
           where application_name = $1 and state = 'idle in transaction' and query like 'set local%'`,
          [RELAYS],
        ),
      ).toEqual([{ held: false }]);
    });
  } finally {
    open();
  }
  await waitUntilSent();
});

test("sent events are kept for the days that are set, and then erased in steps", async () => {
  await rowsOf(
    `insert into herald_outbox (event, sent_at)
     select '{}', now() - interval '1 second' * (86400 * case when n <= 2500 then 8 else 6 end) from generate_series(1, 2510) as series (n)`,
  );
  await rowsOf(
    `insert into herald_outbox (event, refused, added_at) values ('{}', 'why', now() - interval '365 days')`,
  );
  const relay = start({ keepDays: 7 });
  await eventually(async () => {
    expect(await rowsOf("select 1 from herald_outbox where sent_at is not null")).toHaveLength(10);
  });
  await relay.close();
  expect(await rowsOf("select 1 from herald_outbox where refused is not null")).toHaveLength(1);
});

test("a replay sends again what was sent since a time, once, while relays are at work", async () => {
  const early = Array.from({ length: 5 }, () => anEvent());
  const late = Array.from({ length: 1_100 }, () => anEvent());
  start();
  await transaction(early, "commit");
  await waitUntilSent();
  await rowsOf(`update herald_outbox set sent_at = now() - interval '2 hours'`);
  await transaction(late, "commit");
  await waitUntilSent();
  await channel.purgeQueue(queue);
  const steps: number[] = [];
  const since = new Date(Date.now() - 3_600_000);
  expect(await replayOutbox({ pool: pool, since, onStep: (rows) => steps.push(rows) })).toBe(1_100);
  expect(steps).toEqual([1_000, 1_100]);
  await waitUntilSent();
  expect((await arrivedIds()).sort()).toEqual(idsOf(late));
});

test("the lag of an outbox says what waits, since when, and what was refused", async () => {
  expect(await readOutboxLag({ pool: pool })).toEqual({ waiting: 0, oldestSeconds: null, refused: 0 });
  await rowsOf(
    `insert into herald_outbox (event, added_at, sent_at, refused) values
     ('{}', now() - interval '1 hour', null, null), ('{}', now(), null, null),
     ('{}', now() - interval '1 day', now(), null), ('{}', now() - interval '1 day', null, 'why')`,
  );
  const { oldestSeconds, ...counts } = await readOutboxLag({ pool: pool });
  expect(counts).toEqual({ waiting: 2, refused: 1 });
  expect(oldestSeconds).toBeGreaterThanOrEqual(3_600);
  expect(oldestSeconds).toBeLessThan(7_200);
});

test("an outbox may have another name, a schema and events of type json, and a missing one is reported", async () => {
  const schema = "Product";
  const table = `${schema}.Outbox`;
  await pool.query(`create schema "${schema}"`);
  await pool.query(outboxTable(table));
  await pool.query(outboxTable(table));
  await pool.query(`alter table "${schema}"."Outbox" alter event type json using event::json`);
  const event = anEvent();
  await within((client) => createOutbox({ table }).add(client, event));
  const failures: string[] = [];
  start({ table: `${schema}.Missing`, onFailure: ({ message }) => failures.push(message) });
  start({ table });
  await eventually(async () => expect(await arrivedIds()).toEqual([event.id]));
  await eventually(() => expect(failures.join("\n")).toContain(`${schema}.Missing`));
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
