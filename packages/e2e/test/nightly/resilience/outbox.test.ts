import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { declareTopology, names } from "@herald/common/broker/topology";
import { certificates } from "@herald/dev/harness/certificates";
import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { type Link, startLink } from "@herald/dev/harness/link";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { useDatabase } from "@herald/dev/harness/use-database";
import { projectFolder } from "@herald/dev/stack/folders";
import { type Postgres, startPostgres } from "@herald/dev/stack/postgres";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { outboxTable } from "@herald/emitter/outbox";
import { verify } from "@herald/receiver";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import pg from "pg";
import { apiClient } from "../../../src/herald/api-client.ts";
import { type ServiceProcess, startServiceProcess } from "../../../src/herald/processes.ts";
import { heraldSettings } from "../../../src/herald/settings.ts";

/** Once in this many requests, the answer is lost on its way, after the effect was written down. */
const LOST_ANSWER_EVERY = 250;

/** A service that acts on events: of each, an effect in its own database. */
interface ReceivingService {
  /** Where an organization's endpoint is. */
  urlOf(organizationId: string): string;
  /** Tells the secret of an organization's endpoint, without which its requests are refused. */
  trust(organizationId: string, secret: string): void;
  /** Requests so far, repeated ones and refused ones included. */
  readonly requests: HttpsReceiver["requests"];
  countEffects(): Promise<number>;
  /** The effects that one delivery, or one event, had more than once. */
  repeatedEffects(): Promise<unknown[]>;
  close(): Promise<void>;
}

/**
 * It verifies each request, and writes its effect in the transaction in which it remembers the event. Some of its answers
 * are lost, and so the sender has to repeat what has had its effect.
 */
async function startReceivingService(databaseUrl: string): Promise<ReceivingService> {
  const pool = new pg.Pool({ connectionString: databaseUrl });
  await pool.query("create table received (endpoint text, event text, primary key (endpoint, event))");
  await pool.query("create table effect (endpoint text not null, delivery text not null, event text not null)");
  const secrets = new Map<string, string>();
  const receiver = await httpsReceiver();

  receiver.answerWith(async ({ path, headers, body }, index) => {
    const endpoint = path.slice(1);
    const secret = secrets.get(endpoint);
    if (secret === undefined) return { status: 404 };
    const verdict = verify({ secret, headers, body });
    if (!verdict.ok) return { status: 401, body: verdict.reason };
    await pool.query(
      `with known as (insert into received values ($1, $3) on conflict do nothing returning endpoint)
       insert into effect select endpoint, $2, $3 from known`,
      [endpoint, verdict.deliveryId, verdict.eventId],
    );
    return index % LOST_ANSWER_EVERY === 0 ? { fault: "reset" } : { status: 204 };
  });

  return {
    urlOf: (organizationId) => `${receiver.url}/${organizationId}`,
    trust: (organizationId, secret) => void secrets.set(organizationId, secret),
    requests: receiver.requests,
    countEffects: async () => (await pool.query("select count(*)::int as count from effect")).rows[0].count,
    repeatedEffects: async () => {
      const { rows } = await pool.query(
        `select 'delivery' as what, delivery as id, count(*)::int as effects from effect group by delivery having count(*) > 1
         union all
         select 'event', event, count(*)::int from effect group by endpoint, event having count(*) > 1
         limit 10`,
      );
      return rows;
    },
    close: async () => {
      await receiver.close();
      await pool.end();
    },
  };
}

const ENTITIES = 500;
const NAMESPACE = "herald";
/** Gets everything that Herald's inbox gets, and keeps it. */
const TAP = "tap";

/** Whose events the outbox has. */
const ORGANIZATIONS = Array.from({ length: 50 }, (_, index) => `org-${index}`);
const ROWS = 50_000;

// Hooks run in their order: this one runs before those that remove the databases.
afterAll(async () => {
  await herald?.kill();
  await service?.close();
});

const heraldDatabase = useDatabase();
const serviceDatabase = useDatabase({ migrated: false });
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
let herald: ServiceProcess;
let service: ReceivingService;

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

async function startHerald(): Promise<ServiceProcess> {
  const caFile = join(folder, "ca.pem");
  writeFileSync(caFile, (await certificates()).caPem);
  const settings = heraldSettings({
    databaseUrl: heraldDatabase.url,
    amqpUrl: through(rabbitmq.url, links.rabbitmq),
    namespace: NAMESPACE,
    caFile,
  });
  return await startServiceProcess("serve", { ...settings, RETRY_DELAYS_SECONDS: "1,1,60,600" });
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

test("while relays, broker, database and Herald are killed in turn, every event of an outbox reaches the broker, and has one effect at its receiver", async () => {
  const connection = await connect(rabbitmq.url);
  const channel = await connection.createChannel();
  await declareTopology(channel, NAMESPACE);
  await channel.assertQueue(TAP, { durable: true, arguments: { "x-queue-type": "quorum" } });
  await channel.bindQueue(TAP, names(NAMESPACE).eventsExchange, "#");
  await connection.close();
  herald = await startHerald();
  service = await startReceivingService(serviceDatabase.url);
  for (const organizationId of ORGANIZATIONS) {
    const api = await apiClient(`http://127.0.0.1:${herald.port}`, organizationId, { untilAvailable: true });
    const { signingSecret } = await api.create({ url: service.urlOf(organizationId), events: ["RiskCreated"] });
    service.trust(organizationId, signingSecret as string);
  }
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
  await marked(ROWS * 0.6);
  await herald.kill();
  herald = await startHerald();
  await marked(ROWS * 0.7);
  // Neither outage has ended one of them.
  expect(relays.map(({ exitCode }) => exitCode)).toEqual([null, null, null, null]);
  for (const relay of relays) await kill(relay);
  relays.length = 0;
  startRelay();
  await marked(ROWS);

  // Rows that were sent and not marked came again.
  expect(new Set(await everything()).size).toBe(ROWS);

  await eventually(async () => expect(await service.countEffects()).toBeGreaterThanOrEqual(ROWS), {
    timeoutMs: 1_200_000,
    intervalMs: 500,
  });
  // Deliveries in flight when Herald was killed come again, when their shard has an owner again.
  const { prisma } = heraldDatabase.database;
  await eventually(async () => expect(await prisma.due.count()).toBe(0), { timeoutMs: 300_000, intervalMs: 500 });
  expect(service.requests.length).toBeGreaterThan(ROWS);
  expect(await service.repeatedEffects()).toEqual([]);
  expect(await service.countEffects()).toBe(ROWS);
}, 1_800_000);
