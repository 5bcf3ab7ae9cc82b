import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { declareHints, declareTopology } from "@herald/common/broker/topology";
import { systemClock } from "@herald/common/runtime/clock";
import { secretBox } from "@herald/common/security/secret-box";
import { certificates } from "@herald/testkit/harness/certificates";
import { eventually } from "@herald/testkit/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/testkit/harness/https-receiver";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/testkit/harness/stack-client";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { freePort } from "@herald/testkit/stack/ports";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/testkit/stack/rabbitmq-node";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type ConfirmChannel, connect } from "amqplib";
import { depthOf } from "../src/broker.ts";
import type { NamedFinding } from "../src/doctor/finding.ts";
import { newKey, useOwnPostgres } from "./doctor-environment.ts";
import { callHerald, type Outcome, runHerald } from "./run-herald.ts";

const postgres = useOwnPostgres();
const broker = useBroker();
const folder = mkdtempSync(join(tmpdir(), "herald-doctor-files-"));
const caFile = join(folder, "ca.pem");
const KEY = newKey("k1");

let receiver: HttpsReceiver;
let keyServer: Server;
/** What the key server answers. */
let keySet = "";

beforeAll(async () => {
  writeFileSync(caFile, (await certificates()).caPem);
  receiver = await httpsReceiver({ host: "localhost" });
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  keySet = JSON.stringify({ keys: [publicKey.export({ format: "jwk" })] });
  keyServer = createServer((_request, response) => void response.setHeader("connection", "close").end(keySet));
  await once(keyServer.listen(0, "127.0.0.1"), "listening");
  await onBroker(async (channel) => {
    await declareTopology(channel, broker.namespace);
    await declareHints(channel, broker.namespace);
  });
}, STACK_TIMEOUT_MS);
afterAll(async () => {
  await receiver?.close();
  keyServer?.closeAllConnections();
  keyServer?.close();
  rmSync(folder, { recursive: true });
});

async function onBroker(task: (channel: ConfirmChannel) => Promise<unknown>, url = broker.url): Promise<void> {
  const connection = await connect(url);
  try {
    const channel = await connection.createConfirmChannel();
    await task(channel);
    await channel.waitForConfirms();
  } finally {
    await connection.close();
  }
}

/** The settings of a set-up that is right. */
function right(): Record<string, string> {
  return {
    DATABASE_URL: postgres.url(),
    AMQP_URL: broker.url,
    BROKER_NAMESPACE: broker.namespace,
    SECRET_KEYS: KEY,
    AUTH_JWKS_URL: `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/jwks`,
    ALLOWED_PRIVATE_NETWORKS: "127.0.0.0/8,::1/128",
    EXTRA_CA_FILE: caFile,
  };
}

interface Change {
  settings?: Record<string, string>;
  args?: string[];
  /** What the clock of this machine is ahead of the true one. */
  aheadMs?: number;
}

async function examine({ settings = {}, args = [], aheadMs = 0 }: Change): Promise<Outcome> {
  const clock = { ...systemClock, now: () => new Date(Date.now() + aheadMs) };
  return await callHerald(["doctor", "--json", "--url", receiver.url, ...args], { ...right(), ...settings }, { clock });
}

/** What the doctor has to say of the right set-up after one change. */
async function complaints(change: Change): Promise<NamedFinding[]> {
  const { code, stdout, stderr } = await examine(change);
  expect(stdout + stderr).not.toMatch(/do-not-show|guest:guest/);
  expect(stdout).not.toContain(KEY.slice(3));
  const { faults, warnings, findings } = JSON.parse(stdout) as {
    faults: number;
    warnings: number;
    findings: NamedFinding[];
  };
  const found = findings.filter(({ status }) => status === "fault" || status === "warning");
  expect(found).toHaveLength(faults + warnings);
  expect(code).toBe(faults > 0 ? 1 : 0);
  return found;
}

/** One finding, whose words match. */
function only(status: "fault" | "warning", check: string, what: RegExp, remedy: RegExp): unknown {
  return [{ status, check, what: expect.stringMatching(what), remedy: expect.stringMatching(remedy) }];
}

/** Changes the server for as long as the task takes. */
async function withSql<T>(change: string, undo: string, task: () => Promise<T>): Promise<T> {
  await postgres.run(change);
  try {
    return await task();
  } finally {
    await postgres.run(undo);
  }
}

describe("of a right set-up", () => {
  test("the doctor says that there is nothing to do, with each check in a table", async () => {
    const { code, stdout, stderr } = await runHerald(["doctor", "--url", receiver.url], right());
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^STATUS +CHECK +FINDING\n/);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe("Nothing to do.");
    for (const check of ["PostgreSQL version", "schema", "user's rights", "RabbitMQ version", "queues", "way out"]) {
      expect(stdout).toMatch(new RegExp(`^ok +${check}`, "m"));
    }
    expect(stdout).not.toMatch(/^(skipped|warning|fault)/m);
  });

  test.each(["management-api", "publisher", "dispatcher"])("%s's own user is right for it too", async (service) => {
    const url = postgres.url(service === "management-api" ? "herald_api" : `herald_${service}`);
    // Its own user may not look at the migrations; herald_publisher not at the secrets.
    expect(await complaints({ settings: { DATABASE_URL: url }, args: ["--service", service] })).toEqual([]);
  });

  test("the doctor makes nothing", async () => {
    const namespace = `${broker.namespace}.new`;
    expect(await complaints({ settings: { BROKER_NAMESPACE: namespace } })).toEqual([]);
    const connection = await connect(broker.url);
    const { messages } = await depthOf(connection, `${namespace}.events.rejected`);
    await connection.close();
    expect(messages).toBeNull();
  });
});

describe("of the database", () => {
  test("the doctor finds that nothing listens there", async () => {
    const found = await complaints({ settings: { DATABASE_URL: "postgres://herald:do-not-show@127.0.0.1:1/herald" } });
    expect(found).toEqual(only("fault", "PostgreSQL", /Nothing listens at 127\.0\.0\.1:1/, /port in DATABASE_URL/));
  });

  test("the doctor finds a wrong password, and shows none", async () => {
    const url = postgres.url().replace("do-not-show", "do-not-show-either");
    const found = await complaints({ settings: { DATABASE_URL: url } });
    expect(found).toEqual(only("fault", "PostgreSQL", /refuses this user/, /user and password in DATABASE_URL/));
  });

  test("the doctor finds that the database does not exist", async () => {
    const found = await complaints({ settings: { DATABASE_URL: postgres.url("herald_app", "nowhere") } });
    expect(found).toEqual(only("fault", "PostgreSQL", /"nowhere" does not exist/, /Create the database/));
  });

  test("the doctor finds that the server has no TLS where DATABASE_CA_FILE asks for it", async () => {
    const found = await complaints({ settings: { DATABASE_CA_FILE: caFile } });
    expect(found).toEqual(only("fault", "PostgreSQL", /does not speak TLS/, /DATABASE_CA_FILE has to be absent/));
  });

  test("the doctor finds a database without a schema", async () => {
    await postgres.run("create database bare");
    const found = await complaints({ settings: { DATABASE_URL: postgres.url("herald_app", "bare") } });
    expect(found).toEqual(only("fault", "schema", /migration missing: \d+_init/, /herald migrate as the owner/));
  });

  test("the doctor finds a migration that was cut off", async () => {
    const set = (value: string) => `update _prisma_migrations set finished_at = ${value}`;
    const found = await withSql(set("null"), set("now()"), () => complaints({}));
    expect(found).toEqual(only("fault", "schema", /_init failed, or was cut off/, /Run herald migrate/));
  });

  test("the doctor finds a database in another encoding", async () => {
    await postgres.run("create database latin encoding 'LATIN1' locale 'C' template template0");
    const found = await complaints({ settings: { DATABASE_URL: postgres.url("herald_app", "latin") } });
    expect(found.slice(0, 1)).toEqual(only("fault", "database", /encoding is LATIN1/, /encoding UTF8/));
  });

  test("the doctor finds each right that the user lacks, with the grant", async () => {
    const onTable = await withSql("revoke delete on due from herald_app", "grant delete on due to herald_app", () =>
      complaints({}),
    );
    expect(onTable).toEqual(
      only("fault", "user's rights", /herald_app lacks: delete on due\./, /grant select, insert/),
    );
    const onFunction = await withSql(
      "revoke execute on function make_partitions(date) from herald_app",
      "grant execute on function make_partitions(date) to herald_app",
      () => complaints({}),
    );
    expect(onFunction).toEqual(
      only("fault", "user's rights", /execute on function make_partitions\(date\)/, /grant execute/),
    );
    const onColumn = await withSql(
      "revoke update (due_at) on due from herald_dispatcher",
      "grant update (due_at) on due to herald_dispatcher",
      () =>
        complaints({
          settings: { DATABASE_URL: postgres.url("herald_dispatcher") },
          args: ["--service", "dispatcher"],
        }),
    );
    expect(onColumn).toEqual(only("fault", "user's rights", /update \(due_at\) on due/, /service-roles\.sql again/));
  });

  test("the doctor warns of a user who owns the tables", async () => {
    const found = await complaints({ settings: { DATABASE_URL: postgres.url("herald_owner") } });
    expect(found[0]).toMatchObject({
      status: "warning",
      check: "user's rights",
      what: expect.stringMatching(/owns the tables/),
    });
    expect(found.every(({ status }) => status === "warning")).toBe(true);
  });

  test("the doctor finds that the connections do not suffice", async () => {
    const limit = (count: number) => `alter role herald_app connection limit ${count}`;
    const found = await withSql(limit(20), limit(-1), () => complaints({}));
    expect(found).toEqual(only("fault", "connections", /user's limit leaves 20/, /Raise the user's connection limit/));
    const many = await complaints({ args: ["--processes", "100"] });
    expect(many).toEqual(only("fault", "connections", /100 processes.*the server leaves/, /max_connections/));
  });

  test("the doctor finds that commits do not wait for the disk", async () => {
    const found = await withSql(
      "alter role herald_app set synchronous_commit = off",
      "alter role herald_app reset synchronous_commit",
      () => complaints({}),
    );
    expect(found).toEqual(only("fault", "durability", /synchronous_commit is off/, /Set synchronous_commit to on/));
  });

  test("the doctor finds that transactions are read-only", async () => {
    const found = await withSql(
      "alter role herald_app set default_transaction_read_only = on",
      "alter role herald_app reset default_transaction_read_only",
      () => complaints({}),
    );
    expect(found).toEqual(only("fault", "database", /read-only/, /Reset it where it is set/));
  });

  test("the doctor finds that this machine's clock is wrong", async () => {
    const found = await complaints({ aheadMs: 60_000 });
    expect(found).toEqual(only("fault", "clocks", /(59|60) s ahead of PostgreSQL's/, /time server/));
    const behind = await complaints({ aheadMs: -3_000 });
    expect(behind).toEqual(only("warning", "clocks", /3 s behind/, /time server/));
  });

  test("the doctor finds that no publisher makes partitions", async () => {
    const day = "'2020-01-01'::date";
    const found = await withSql(`select make_partitions(${day})`, `select drop_partitions(${day}, 10)`, () =>
      complaints({}),
    );
    expect(found).toEqual(only("fault", "partitions", /No day ahead has partitions/, /Start a publisher/));
  });

  test("the doctor counts the secrets that no key opens", async () => {
    const other = secretBox(newKey("lost"));
    const id = (number: number) => `00000000-0000-4000-8000-00000000000${number}`;
    const insert = (number: number, sealed: string) =>
      `('${id(number)}', 'o', 'n', 'https://r.example', true, '{}', '${sealed}', now(), now())`;
    const rows = [
      insert(1, secretBox(KEY).seal("s", id(1))),
      insert(2, other.seal("s", id(2))),
      insert(3, other.seal("s", id(3))),
    ];
    const columns = "id, organization_id, name, url, enabled, events, sealed_secret, created_at, updated_at";
    const found = await withSql(
      `insert into webhook_endpoint (${columns}) values ${rows.join(", ")}`,
      "delete from webhook_endpoint",
      () => complaints({}),
    );
    expect(found).toEqual(only("fault", "key ring", /2 of 3 signing secrets.*key "lost"/, /Put the missing key back/));
  });
});

describe("of the settings", () => {
  test("the doctor finds those that can't be used, goes on with the others, and shows no secret", async () => {
    const found = await complaints({
      settings: {
        SECRET_KEYS: "k1:do-not-show",
        DATABASE_CA_FILE: join(folder, "absent.pem"),
        DATABASE_POOL_SIZE: "0",
      },
    });
    expect(found.map(({ check }) => check)).toEqual(["settings", "settings"]);
    expect(found[0]?.what).toContain('key "k1" has 8 bytes instead of 32');
    expect(found[1]?.what).toContain("DATABASE_CA_FILE names a file that can't be read");
  });

  test("the doctor can't run without any, and says which it wants", async () => {
    const { code, stdout, stderr } = await callHerald(["doctor"], {});
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("DATABASE_URL and AMQP_URL");
  });
});

describe("of the broker", () => {
  const nodeFolder = mkdtempSync(join(tmpdir(), "herald-doctor-broker-"));
  /** A node whose users and limits a test may change. Its limits are RabbitMQ's own. */
  let node: RabbitmqNode;
  beforeAll(async () => {
    const { executable } = await askForRabbitmqServer();
    node = await startRabbitmqNode(executable, {
      folder: nodeFolder,
      pidFolder: join(nodeFolder, "pids"),
      disposable: true,
      configuration: ["max_message_size = 134217728", "frame_max = 131072"],
    });
  }, STACK_TIMEOUT_MS);
  afterAll(async () => {
    await node?.stop();
    rmSync(nodeFolder, { recursive: true, force: true });
  }, STACK_TIMEOUT_MS);

  const changedUrl = (url: string, change: Partial<URL>) => Object.assign(new URL(url), change).href;

  test("the doctor finds that nothing listens there", async () => {
    const found = await complaints({ settings: { AMQP_URL: "amqp://herald:do-not-show@127.0.0.1:1" } });
    expect(found).toEqual(only("fault", "RabbitMQ", /Nothing listens at 127\.0\.0\.1:1/, /port in AMQP_URL/));
  });

  test("the doctor finds a wrong password", async () => {
    const found = await complaints({ settings: { AMQP_URL: changedUrl(broker.url, { password: "do-not-show" }) } });
    expect(found).toEqual(only("fault", "RabbitMQ", /refuses this user/, /user and password in AMQP_URL/));
  });

  test("the doctor finds a virtual host that does not exist", async () => {
    const found = await complaints({ settings: { AMQP_URL: changedUrl(node.url, { pathname: "/nowhere" }) } });
    expect(found).toEqual(only("fault", "RabbitMQ", /refuses the virtual host/, /virtual host in AMQP_URL/));
  });

  test("the doctor finds that AMQP_CA_FILE is set and AMQP_URL asks for no TLS", async () => {
    const found = await complaints({ settings: { AMQP_CA_FILE: caFile } });
    expect(found).toEqual(only("fault", "settings", /AMQP_URL asks for no TLS. Write amqps/, /do not start/));
  });

  test("the doctor finds each right that the broker's user lacks", async () => {
    await node.control(["add_user", "weak", "do-not-show"]);
    const url = changedUrl(node.url, { username: "weak", password: "do-not-show" });
    const all = ["^herald\\.", "^(herald\\..*|amq\\.default)$", "^(herald\\..*|amq\\.rabbitmq\\.reply-to.*)$"] as const;
    for (const [rights, lacked] of [
      [["^$", all[1], all[2]], /lacks the right to configure/],
      [[all[0], "^herald\\.", all[2]], /lacks the right to write to the default exchange/],
      [[all[0], all[1], "^$"], /lacks the right to read,/],
    ] as const) {
      await node.control(["set_permissions", "weak", ...rights]);
      const found = await complaints({ settings: { AMQP_URL: url, BROKER_NAMESPACE: "herald" } });
      const [first] = only("fault", "broker user's rights", lacked, /rabbitmqctl set_permissions/) as unknown[];
      expect(found).toContainEqual(first);
    }
    await node.control(["set_permissions", "weak", ...all]);
    const found = await complaints({ settings: { AMQP_URL: url, BROKER_NAMESPACE: "herald" } });
    expect(found.filter(({ status }) => status === "fault")).toEqual([]);
  });

  test("the doctor warns of limits that are wider than Herald's", async () => {
    const found = await complaints({ settings: { AMQP_URL: node.url } });
    expect(found).toMatchObject([
      { status: "warning", check: "broker's limits", remedy: expect.stringMatching(/max_message_size = 1048576/) },
      { status: "warning", check: "broker's limits", remedy: expect.stringMatching(/frame_max = 16384/) },
    ]);
  });

  test("the doctor finds that the broker takes no messages", async () => {
    await node.control(["set_vm_memory_high_watermark", "absolute", "1MB"]);
    await eventually(async () =>
      expect(await node.control(["eval", "rabbit_alarm:get_alarms()."])).toContain("memory"),
    );
    const found = await complaints({ settings: { AMQP_URL: node.url, BROKER_NAMESPACE: "alarmed" } });
    await node.control(["set_vm_memory_high_watermark", "0.4"]);
    expect(found).toEqual(only("fault", "RabbitMQ", /memory or disk alarm/, /rabbitmq-diagnostics alarms/));
  });

  test("the doctor finds a queue that is another one than Herald declares", async () => {
    const namespace = `${broker.namespace}.other`;
    const queue = `${namespace}.events.inbox.3`;
    await onBroker((channel) => channel.assertQueue(queue, { durable: true }));
    const found = await complaints({ settings: { BROKER_NAMESPACE: namespace } });
    expect(found).toEqual(
      only("fault", "queues and exchanges", /inbox\.3 is another one: .*Herald declares/, /delete_queue/),
    );
    expect(found[0]?.remedy).toContain(queue);
  });

  test("the doctor finds an exchange of another type", async () => {
    const namespace = `${broker.namespace}.direct`;
    await onBroker((channel) => channel.assertExchange(`${namespace}.events`, "direct"));
    const found = await complaints({ settings: { BROKER_NAMESPACE: namespace } });
    expect(found).toEqual(only("fault", "queues and exchanges", /type is 'direct'.*'topic'/, /Delete it/));
  });

  test("the doctor finds queues of an earlier Herald, and what waits in them", async () => {
    const namespace = `${broker.namespace}.old`;
    await onBroker(async (channel) => {
      await channel.assertQueue(`${namespace}.dispatch.first`);
      await channel.assertQueue(`${namespace}.events.inbox`);
      channel.sendToQueue(`${namespace}.events.inbox`, Buffer.from("an event"));
    });
    const found = await complaints({ settings: { BROKER_NAMESPACE: namespace } });
    expect(found).toMatchObject([
      { status: "fault", check: "leftovers", what: expect.stringMatching(/1 message waits.*events\.inbox/) },
      { status: "warning", check: "leftovers", remedy: expect.stringMatching(/delete_queue .*dispatch\.first/) },
    ]);
  });
});

describe("of what is outside", () => {
  test("the doctor finds a key server that does not answer, or has no usable key", async () => {
    const away = await complaints({ settings: { AUTH_JWKS_URL: `http://127.0.0.1:${await freePort()}/jwks` } });
    expect(away).toEqual(
      only("fault", "identity provider's keys", /Nothing listens at 127\.0\.0\.1:/, /AUTH_JWKS_URL/),
    );
    const before = keySet;
    keySet = '{"keys":[]}';
    const empty = await complaints({});
    keySet = before;
    expect(empty).toEqual(only("fault", "identity provider's keys", /none that tokens/, /Have the provider sign/));
  });

  test("the doctor finds a receiver whose address is not public", async () => {
    const found = await complaints({ settings: { ALLOWED_PRIVATE_NETWORKS: "" } });
    expect(found).toEqual(only("fault", "way out", /address that is not public/, /ALLOWED_PRIVATE_NETWORKS/));
  });

  test("the doctor finds a receiver whose certificate is not trusted", async () => {
    const found = await complaints({ settings: { EXTRA_CA_FILE: "" } });
    expect(found).toEqual(only("fault", "way out", /authority that is not trusted/, /EXTRA_CA_FILE/));
  });

  test("the doctor finds that name servers can't be asked", async () => {
    const found = await complaints({
      settings: { DNS_SERVERS: "127.0.0.1:1" },
      args: ["--url", "https://receiver.example/"],
    });
    expect(found).toEqual(only("fault", "way out", /name servers do not say/, /DNS_SERVERS/));
  });

  test("the doctor finds that nothing listens at the receiver", async () => {
    const found = await complaints({ args: ["--url", "https://127.0.0.1:1/"] });
    expect(found).toEqual(only("fault", "way out", /Nothing listens/, /--url/));
  });
});
