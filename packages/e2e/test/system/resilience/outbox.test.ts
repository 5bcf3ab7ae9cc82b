import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { declareTopology, names } from "@herald/common/broker/topology";
import { outboxTable } from "@herald/emitter/outbox";
import { eventually } from "@herald/testkit/harness/eventually";
import { type Link, startLink } from "@herald/testkit/harness/link";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/testkit/harness/stack-client";
import { projectFolder } from "@herald/testkit/stack/folders";
import { type Postgres, startPostgres } from "@herald/testkit/stack/postgres";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/testkit/stack/rabbitmq-node";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import pg from "pg";

const ROWS = 50_000;
const ENTITIES = 500;

// Servers of its own, since it kills them.
const folder = mkdtempSync(join(tmpdir(), "herald-outbox-"));
const pidFolder = join(folder, "pids");
const relays: ChildProcess[] = [];

let postgres: Postgres;
let rabbitmq: RabbitmqNode;
/** What the relays know: the servers' ports change when they are started again. */
let links: { postgres: Link; rabbitmq: Link };
let pool: pg.Pool;

const startDatabase = () => startPostgres({ folder: join(folder, "postgres"), pidFolder, disposable: true });

async function startBroker(): Promise<RabbitmqNode> {
  const { executable } = await askForRabbitmqServer();
  return await startRabbitmqNode(executable, { folder: join(folder, "rabbitmq"), pidFolder, disposable: true });
}

beforeAll(async () => {
  postgres = await startDatabase();
  rabbitmq = await startBroker();
  links = {
    postgres: await startLink(() => [new URL(postgres.url)]),
    rabbitmq: await startLink(() => [new URL(rabbitmq.url)]),
  };
  pool = new pg.Pool({ connectionString: through(postgres.url, links.postgres) });
  pool.on("error", () => undefined);
}, STACK_TIMEOUT_MS);

afterAll(async () => {
  for (const relay of relays) await kill(relay);
  await pool?.end();
  await links?.postgres.close();
  await links?.rabbitmq.close();
  await rabbitmq?.stop();
  await postgres?.remove();
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
    OUTBOX_DATABASE_URL: through(postgres.url, links.postgres),
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

/** Waits until so many rows are marked. PostgreSQL may be away meanwhile. */
async function marked(count: number): Promise<void> {
  await eventually(
    async () => {
      const { rows } = await pool.query("select count(*)::int as sent from herald_outbox where sent_at is not null");
      expect(rows[0].sent).toBeGreaterThanOrEqual(count);
    },
    { timeoutMs: 300_000, intervalMs: 50 },
  );
}

interface Arrived {
  id: string;
  entityId: string;
  data: { number: number };
}

/** Everything that is with the broker, each queue in its order. */
async function everything(): Promise<Arrived[]> {
  const connection = await connect(rabbitmq.url);
  const channel = await connection.createChannel();
  const arrived: Arrived[] = [];
  for (const queue of names("herald").inboxQueues) {
    const { messageCount } = await channel.checkQueue(queue);
    if (messageCount === 0) continue;
    let count = 0;
    await new Promise<void>((resolve) => {
      void channel.consume(
        queue,
        (message) => {
          if (message === null) return;
          arrived.push(JSON.parse(message.content.toString()) as Arrived);
          count++;
          if (count === messageCount) resolve();
        },
        { noAck: true },
      );
    });
  }
  await connection.close();
  return arrived;
}

test("while relays, broker and database are killed in turn, every event of an outbox reaches the broker, and none overtakes another of its entity", async () => {
  const connection = await connect(rabbitmq.url);
  await declareTopology(await connection.createChannel(), "herald");
  await connection.close();
  await pool.query(outboxTable());
  await pool.query(
    `insert into herald_outbox (event)
     select json_build_object(
       'organizationId', 'org-' || n % 50, 'id', gen_random_uuid(), 'type', 'RiskCreated',
       'occurredAtUtc', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
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
  // What "immediate" means: no session is ended, nothing is written down.
  process.kill(postgres.process.pid, "SIGQUIT");
  await postgres.process.exited;
  postgres = await startDatabase();
  await marked(ROWS * 0.7);
  for (const relay of relays) await kill(relay);
  relays.length = 0;
  startRelay();
  await marked(ROWS);

  const arrived = await everything();
  const seen = new Set<string>();
  const lastOf = new Map<string, number>();
  const overtaken: Arrived[] = [];
  for (const event of arrived) {
    // What was sent and not marked came again.
    if (seen.has(event.id)) continue;
    seen.add(event.id);
    if ((lastOf.get(event.entityId) ?? 0) > event.data.number) overtaken.push(event);
    lastOf.set(event.entityId, event.data.number);
  }
  expect(seen.size).toBe(ROWS);
  expect(overtaken).toEqual([]);
}, 900_000);
