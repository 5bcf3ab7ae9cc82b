import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { declareTopology, names } from "@herald/common/broker/topology";
import { eventually } from "@herald/dev/harness/eventually";
import { type Link, startLink } from "@herald/dev/harness/link";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { projectFolder } from "@herald/dev/stack/folders";
import { type Postgres, startPostgres } from "@herald/dev/stack/postgres";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { outboxTable } from "@herald/emitter/outbox";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import pg from "pg";

const ENTITIES = 500;
const NAMESPACE = "herald";
/** Gets everything that Herald's inbox gets, and keeps it. */
const TAP = "tap";

/** Whose events the outbox has. */
const ORGANIZATIONS = Array.from({ length: 50 }, (_, index) => `org-${index}`);
const ROWS = 50_000;

// Servers of its own, since it kills them.
const folder = mkdtempSync(join(tmpdir(), "herald-outbox-"));
const outboxOptions = { folder: join(folder, "postgres"), disposable: true };
const relays: ChildProcess[] = [];

let outboxServer: Postgres;
/** Through something that does not move. */
let pool: pg.Pool;
let rabbitmq: RabbitmqNode;
/** The relays' addresses: the servers' ports change when they are started again. */
let links: { database: Link; rabbitmq: Link };

async function startBroker(): Promise<RabbitmqNode> {
  const { executable } = await askForRabbitmqServer();
  return await startRabbitmqNode(executable, { folder: join(folder, "rabbitmq"), disposable: true });
}

beforeAll(async () => {
  outboxServer = await startPostgres(outboxOptions);
  rabbitmq = await startBroker();
  links = {
    database: await startLink(() => [new URL(outboxServer.url)]),
    rabbitmq: await startLink(() => [new URL(rabbitmq.url)]),
  };
  pool = new pg.Pool({ connectionString: through(outboxServer.url, links.database) });
  pool.on("error", () => undefined);
}, STACK_TIMEOUT_MS);

afterAll(async () => {
  for (const relay of relays) await kill(relay);
  await pool?.end();
  await links?.database.close();
  await links?.rabbitmq.close();
  await rabbitmq?.stop();
  await outboxServer?.remove();
  rmSync(folder, { recursive: true, force: true });
}, STACK_TIMEOUT_MS);

function through(server: string, { port }: Link): string {
  const url = new URL(server);
  url.host = `127.0.0.1:${port}`;
  return url.href;
}

function startRelay(): void {
  const env = {
    PATH: process.env.PATH,
    HERALD_ENV: "development",
    OUTBOX_DATABASE_URL: through(outboxServer.url, links.database),
    AMQP_URL: through(rabbitmq.url, links.rabbitmq),
    HTTP_HOST: "127.0.0.1",
    OPERATIONS_PORT: "0",
    LOG_LEVEL: "error",
  };
  const main = join(projectFolder(), "packages", "cli", "dist", "main.js");
  relays.push(spawn(process.execPath, [main, "relay"], { env, stdio: ["ignore", "ignore", "inherit"] }));
}

async function kill(relay: ChildProcess): Promise<void> {
  relay.kill("SIGKILL");
  if (relay.exitCode === null && relay.signalCode === null) await once(relay, "exit");
}

async function countSent(): Promise<number> {
  const { rows } = await pool.query("select count(*)::int as sent from herald_outbox where sent_at is not null");
  return rows[0].sent;
}

/** Waits until this many rows are marked. The database may be away meanwhile. */
async function marked(count: number): Promise<void> {
  await eventually(
    async () => {
      expect(await countSent()).toBeGreaterThanOrEqual(count);
    },
    { timeoutMs: 300_000, intervalMs: 50 },
  );
}

/** The ids of everything that the broker was given. */
async function everything(): Promise<string[]> {
  const connection = await connect(rabbitmq.url);
  const channel = await connection.createChannel();
  const arrived: string[] = [];
  const { messageCount } = await channel.checkQueue(TAP);
  await new Promise<void>((resolve) => {
    void channel.consume(
      TAP,
      (message) => {
        if (message === null) return;
        arrived.push((JSON.parse(message.content.toString()) as { id: string }).id);
        if (arrived.length === messageCount) resolve();
      },
      { noAck: true },
    );
  });
  await connection.close();
  return arrived;
}

test("while relays, broker and database are killed in turn, every event of an outbox reaches the broker", async () => {
  const connection = await connect(rabbitmq.url);
  const channel = await connection.createChannel();
  await declareTopology(channel, NAMESPACE);
  await channel.assertQueue(TAP, { durable: true, arguments: { "x-queue-type": "quorum" } });
  await channel.bindQueue(TAP, names(NAMESPACE).eventsExchange, "#");
  await connection.close();
  await pool.query(outboxTable());
  // An event has the number of its row in `data`; organizations and entities take turns.
  await pool.query(
    `insert into herald_outbox (event)
       select json_build_object(
         'organizationId', 'org-' || n % ${ORGANIZATIONS.length}, 'id', gen_random_uuid(), 'type', 'RiskCreated',
         'occurredAtUtc', now(),
         'entityType', 'Risk', 'entityId', md5((n % $2)::text)::uuid, 'data', json_build_object('number', n))::text
       from generate_series(1, $1::int) as n`,
    [ROWS, ENTITIES],
  );
  for (let relay = 0; relay < 4; relay++) startRelay();

  await marked(ROWS * 0.1);
  for (const relay of relays.splice(0, 2)) {
    await kill(relay);
    startRelay();
  }
  await marked(ROWS * 0.3);
  await rabbitmq.stop();
  rabbitmq = await startBroker();
  await marked(ROWS * 0.5);
  // "immediate" means: no session is ended, nothing is written down.
  process.kill(outboxServer.process.pid, "SIGQUIT");
  await outboxServer.process.exited;
  outboxServer = await startPostgres(outboxOptions);
  await marked(ROWS * 0.7);
  // Neither outage has ended one of them.
  expect(relays.map(({ exitCode }) => exitCode)).toEqual([null, null, null, null]);
  for (const relay of relays) await kill(relay);
  relays.length = 0;
  startRelay();
  await marked(ROWS);

  // Rows that were sent and not marked came again.
  expect(new Set(await everything()).size).toBe(ROWS);
}, 1_800_000);
