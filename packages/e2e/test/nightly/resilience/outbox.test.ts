import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { declareTopology, names } from "@herald/common/broker/topology";
import { certificates } from "@herald/dev/harness/certificates";
import { eventually } from "@herald/dev/harness/eventually";
import { type Link, startLink } from "@herald/dev/harness/link";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { useDatabase } from "@herald/dev/harness/use-database";
import { projectFolder } from "@herald/dev/stack/folders";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { apiClient } from "../../../src/herald/api-client.ts";
import { type ServiceProcess, startServiceProcess } from "../../../src/herald/processes.ts";
import { heraldSettings } from "../../../src/herald/settings.ts";
import { KILLABLE_DATABASES, type KillableDatabase, ORGANIZATIONS } from "./outbox-databases.ts";
import { type ReceivingService, startReceivingService } from "./receiving-service.ts";

const ENTITIES = 500;
const NAMESPACE = "herald";
/** Gets everything that Herald's inbox gets, and keeps it. */
const TAP = "tap";

describe.each(KILLABLE_DATABASES)("an outbox in $name", ({ start, rows }) => {
  // Hooks run in their order: this one runs before those that remove the databases.
  afterAll(async () => {
    await herald?.kill();
    await service?.close();
  });

  const heraldDatabase = useDatabase();
  const serviceDatabase = useDatabase({ migrated: false });
  // Servers of its own, since it kills them.
  const folder = mkdtempSync(join(tmpdir(), "herald-outbox-"));
  const pidFolder = join(folder, "pids");
  const relays: ChildProcess[] = [];

  let database: KillableDatabase;
  let rabbitmq: RabbitmqNode;
  /** What the relays know: the servers' ports change when they are started again. */
  let links: { database: Link; rabbitmq: Link };
  let herald: ServiceProcess;
  let service: ReceivingService;

  async function startBroker(): Promise<RabbitmqNode> {
    const { executable } = await askForRabbitmqServer();
    return await startRabbitmqNode(executable, { folder: join(folder, "rabbitmq"), pidFolder, disposable: true });
  }

  beforeAll(async () => {
    database = await start(folder);
    rabbitmq = await startBroker();
    links = {
      database: await startLink(() => [new URL(database.url())]),
      rabbitmq: await startLink(() => [new URL(rabbitmq.url)]),
    };
    database.open(through(database.url(), links.database));
  }, STACK_TIMEOUT_MS);

  afterAll(async () => {
    for (const relay of relays) await kill(relay);
    await database?.close();
    await links?.database.close();
    await links?.rabbitmq.close();
    await rabbitmq?.stop();
    await database?.remove();
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
      OUTBOX_DATABASE_URL: through(database.url(), links.database),
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

  /** Waits until so many rows are marked. The database may be away meanwhile. */
  async function marked(count: number): Promise<void> {
    await eventually(
      async () => {
        expect(await database.countSent()).toBeGreaterThanOrEqual(count);
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
    await database.fill(rows, ENTITIES);
    for (let relay = 0; relay < 4; relay++) startRelay();

    await marked(rows * 0.1);
    for (const relay of relays.splice(0, 2)) {
      await kill(relay);
      startRelay();
    }
    await marked(rows * 0.3);
    await rabbitmq.stop();
    rabbitmq = await startBroker();
    await marked(rows * 0.5);
    await database.killAndStart();
    await marked(rows * 0.6);
    await herald.kill();
    herald = await startHerald();
    await marked(rows * 0.7);
    // Neither outage has ended one of them.
    expect(relays.map(({ exitCode }) => exitCode)).toEqual([null, null, null, null]);
    for (const relay of relays) await kill(relay);
    relays.length = 0;
    startRelay();
    await marked(rows);

    // What was sent and not marked came again.
    expect(new Set(await everything()).size).toBe(rows);

    await eventually(async () => expect(await service.countEffects()).toBeGreaterThanOrEqual(rows), {
      timeoutMs: 1_200_000,
      intervalMs: 500,
    });
    // What was on its way when Herald was killed comes again, when its shard has an owner again.
    const { prisma } = heraldDatabase.database;
    await eventually(async () => expect(await prisma.due.count()).toBe(0), { timeoutMs: 300_000, intervalMs: 500 });
    expect(service.requests.length).toBeGreaterThan(rows);
    expect(await service.repeatedEffects()).toEqual([]);
    expect(await service.countEffects()).toBe(rows);
  }, 1_800_000);
});
