import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { eventually } from "@herald/testkit/harness/eventually";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { type Channel, type ChannelModel, connect } from "amqplib";
import { Pool } from "pg";
import { createEmitter, type EmittedEvent, type Emitter, newEvent } from "../src/index.ts";
import { createOutbox, outboxTable, type Relay, type RelayOptions, startRelay } from "../src/outbox/index.ts";

// Hooks run in their order: this one runs before those of the harness, which fail on connections that are left open.
afterAll(async () => {
  await emitter.close();
  await admin.close();
  await pool.end();
});

const broker = useBroker();
const at = useDatabase();
const exchange = `${broker.namespace}.events`;
const queue = `${broker.namespace}.inbox`;
const outbox = createOutbox();

let pool: Pool;
let admin: ChannelModel;
let channel: Channel;
let emitter: Emitter;
const relays: Relay[] = [];
const processes: ChildProcess[] = [];

beforeAll(async () => {
  pool = new Pool({ connectionString: at.url, max: 10 });
  // Without a listener, an idle connection that dies would end the process.
  pool.on("error", () => {});
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
  for (const process of processes.splice(0)) {
    process.kill("SIGKILL");
    if (process.exitCode === null && process.signalCode === null) await once(process, "exit");
  }
  await pool.query("truncate herald_outbox");
  await channel.purgeQueue(queue);
});

function start(changes: Partial<RelayOptions> = {}): Relay {
  const relay = startRelay({ pool, emitter, pollIntervalMs: 20, ...changes });
  relays.push(relay);
  return relay;
}

const anEvent = (): EmittedEvent =>
  newEvent({
    organizationId: "acme",
    type: "RiskCreated",
    entityType: "ProjectRisk",
    entityId: "b7a3c1de-14a8-4e58-9a4e-3e6f0a4c2f10",
  });

/** A business transaction with events in it. */
async function transaction(events: EmittedEvent[], end: "commit" | "rollback"): Promise<void> {
  const client = await pool.connect();
  await client.query("begin");
  for (const event of events) await outbox.add(client, event);
  await client.query(end);
  client.release();
}

async function waitUntilEmpty(timeoutMs = 20_000): Promise<void> {
  await eventually(async () => expect((await pool.query("select from herald_outbox")).rowCount).toBe(0), { timeoutMs });
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
  const committed = Array.from({ length: 20 }, anEvent);
  for (const event of committed) {
    await transaction([anEvent()], "rollback");
    await transaction([event], "commit");
  }
  await waitUntilEmpty();
  expect(await arrivedIds()).toEqual(committed.map(({ id }) => id));
});

test("an event in the outbox keeps its trace context", async () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await outbox.add(pool, anEvent(), { traceparent });
  start();
  await waitUntilEmpty();
  const message = await channel.get(queue, { noAck: true });
  expect(message).toMatchObject({ properties: { headers: { traceparent } } });
});

test("an event that breaks the contract does not get into the outbox, and the transaction goes on", async () => {
  const client = await pool.connect();
  await client.query("begin");
  await expect(outbox.add(client, { ...anEvent(), id: "7" })).rejects.toThrow("id must be a UUID");
  await outbox.add(client, anEvent());
  await client.query("commit");
  client.release();
  start();
  await waitUntilEmpty();
  expect(await arrivedIds()).toHaveLength(1);
});

test("several relays share the work, and send each event once", async () => {
  const events = Array.from({ length: 1000 }, anEvent);
  for (let i = 0; i < events.length; i += 100) await transaction(events.slice(i, i + 100), "commit");
  for (let i = 0; i < 3; i++) start({ batchSize: 50 });
  await waitUntilEmpty();
  expect((await arrivedIds()).sort()).toEqual(idsOf(events));
});

test("wake ends the rest of a relay", async () => {
  const relay = start({ pollIntervalMs: 600_000 });
  const event = anEvent();
  // The first look may come before or after the commit; the second one comes by waking.
  await transaction([event], "commit");
  await eventually(async () => {
    relay.wake();
    expect((await pool.query("select from herald_outbox")).rowCount).toBe(0);
  });
});

test("an event that the broker does not take stays in the outbox until the broker takes it", async () => {
  const failures: string[] = [];
  await transaction([anEvent(), anEvent()], "commit");
  await channel.unbindQueue(queue, exchange, "#");
  start({ onFailure: ({ message }) => failures.push(message) });
  await eventually(() => expect(failures).toContainEqual(expect.stringContaining("no queue takes RiskCreated")));
  expect((await pool.query("select from herald_outbox")).rowCount).toBe(2);
  await channel.bindQueue(queue, exchange, "#");
  await waitUntilEmpty();
  expect(await arrivedIds()).toHaveLength(2);
});

test("a row that is no event stays with the reason, and does not hold up other events", async () => {
  await pool.query("insert into herald_outbox (event) values ('{}'), ('not JSON')");
  await transaction([anEvent()], "commit");
  start();
  await eventually(async () => {
    const { rows } = await pool.query<{ refused: string | null }>("select refused from herald_outbox order by number");
    expect(rows).toEqual([
      { refused: expect.stringContaining("not valid") },
      { refused: expect.stringContaining("JSON") },
    ]);
  });
  expect(await arrivedIds()).toHaveLength(1);
});

test("a relay survives the loss of its database connection", async () => {
  const failures: Error[] = [];
  start({ onFailure: (error) => failures.push(error) });
  await transaction([anEvent()], "commit");
  await waitUntilEmpty();
  await eventually(async () => {
    await pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and query like '%skip locked%'",
    );
    expect(failures.length).toBeGreaterThan(0);
  });
  await transaction([anEvent()], "commit");
  await waitUntilEmpty();
  expect(await arrivedIds()).toHaveLength(2);
});

test("relays that are killed lose no event", async () => {
  const committed: EmittedEvent[] = [];
  let writing = true;
  const writer = (async () => {
    while (writing) {
      const events = Array.from({ length: 20 }, anEvent);
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
  await waitUntilEmpty();
  const arrived = new Set(await arrivedIds());
  expect([...arrived].sort()).toEqual(idsOf(committed));
});

const queueLength = async () => (await channel.checkQueue(queue)).messageCount;

/** A relay in a process of its own, which runs the built packages. */
function startRelayProcess(): ChildProcess {
  const program = `
    import { createEmitter } from "@herald/emitter";
    import { startRelay } from "@herald/emitter/outbox";
    import pg from "pg";
    const [, url, namespace, databaseUrl] = process.argv;
    const pool = new pg.Pool({ connectionString: databaseUrl });
    startRelay({ pool, emitter: createEmitter({ url, namespace }), batchSize: 50 });
  `;
  const child = spawn(
    process.execPath,
    ["--input-type=module", "--eval", program, broker.url, broker.namespace, at.url],
    { cwd: new URL("..", import.meta.url), stdio: "inherit" },
  );
  processes.push(child);
  return child;
}
