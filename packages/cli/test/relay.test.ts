import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { declareTopology, names } from "@herald/common/broker/topology";
import { eventually } from "@herald/dev/harness/eventually";
import { ODD_SETTINGS, setUserSettings } from "@herald/dev/harness/odd-settings";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { projectFolder } from "@herald/dev/stack/folders";
import { freePort } from "@herald/dev/stack/ports";
import { withClient } from "@herald/dev/stack/postgres";
import { outboxTable } from "@herald/emitter/outbox";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Channel, type ChannelModel, connect } from "amqplib";
import { callHerald } from "./run-herald.ts";

/** With a schema in front. */
const TABLE = "product.outbox";

// Hooks run in their order: this one runs before those of the harness, which fail on connections that are left open.
afterAll(async () => {
  relay?.kill("SIGKILL");
  if (relay?.exitCode === null && relay.signalCode === null) await once(relay, "exit");
  await admin?.close();
});

const broker = useBroker();
const db = useDatabase({ migrated: false });
let relay: ChildProcess | undefined;
let admin: ChannelModel | undefined;
let channel: Channel;

const run = (sql: string, values: unknown[] = []): Promise<unknown[]> =>
  withClient(db.url, async (client) => (await client.query(sql, values)).rows);

beforeAll(async () => {
  await setUserSettings(db, ODD_SETTINGS);
  await run("create schema product");
  await run(outboxTable(TABLE));
  admin = await connect(broker.url);
  channel = await admin.createChannel();
  await declareTopology(channel, broker.namespace);
});

const settings = () => ({
  HERALD_ENV: "development",
  OUTBOX_DATABASE_URL: db.url,
  OUTBOX_TABLE: TABLE,
  AMQP_URL: broker.url,
  BROKER_NAMESPACE: broker.namespace,
});

/** Inserts as a service in any language does, in its own transaction. */
async function insert(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  for (const id of ids) {
    const event = {
      organizationId: "acme",
      id,
      type: "RiskCreated",
      occurredAtUtc: new Date().toISOString(),
      entityType: "Risk",
      entityId: randomUUID(),
      data: {},
    };
    await run(`insert into ${TABLE} (event) values ($1)`, [JSON.stringify(event)]);
  }
  return ids.sort();
}

async function arrived(): Promise<string[]> {
  const ids: string[] = [];
  for (const queue of names(broker.namespace).inboxQueues) {
    for (let got = await channel.get(queue, { noAck: true }); got; got = await channel.get(queue, { noAck: true })) {
      ids.push((JSON.parse(got.content.toString()) as { id: string }).id);
    }
  }
  return ids.sort();
}

const waiting = async () => (await run(`select from ${TABLE} where sent_at is null and refused is null`)).length;

test("herald relay sends what any program inserts, serves its metrics, ends on SIGTERM, and replays", async () => {
  const port = await freePort();
  const started = spawn(process.execPath, [join(projectFolder(), "packages", "cli", "dist", "main.js"), "relay"], {
    env: { PATH: process.env.PATH, ...settings(), HTTP_HOST: "127.0.0.1", OPERATIONS_PORT: String(port) },
    stdio: "ignore",
  });
  relay = started;
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  const ids = await insert(30);
  await run(`insert into ${TABLE} (event) values ('{}')`);
  await eventually(async () => expect(await waiting()).toBe(0));
  expect(await arrived()).toEqual(ids);
  expect(await (await get("/readyz")).json()).toEqual({ database: true, broker: true });
  await eventually(async () => {
    const metrics = await (await get("/metrics")).text();
    expect(metrics).toContain('herald_relay_sent_total{service="relay"} 30');
    expect(metrics).toContain('herald_outbox_waiting{service="relay"} 0');
    expect(metrics).toContain('herald_outbox_oldest_age_seconds{service="relay"} 0');
    expect(metrics).toContain('herald_outbox_refused{service="relay"} 1');
  });

  const exported = (await (await get("/metrics")).text()).matchAll(/^# HELP (herald_\w+) /gm);
  const page = readFileSync(join(projectFolder(), "docs", "operating", "metrics.md"), "utf8");
  const documented = page.matchAll(/^\| `(herald_\w+)` .*\brelay \|/gm);
  expect([...exported].map(([, name]) => name).sort()).toEqual([...documented].map(([, name]) => name).sort());

  const since = new Date(Date.now() - 3_600_000).toISOString();
  const replayed = await callHerald(["relay", "replay", "--since", since], settings());
  expect(replayed).toMatchObject({ code: 0, stdout: `30 events wait again in ${TABLE}.\n`, stderr: "30 events\n" });
  expect(replayed.audit).toMatchObject({ what: ["--since", since], details: { events: 30 } });
  await eventually(async () => expect(await waiting()).toBe(0));
  expect(await arrived()).toEqual(ids);

  started.kill("SIGTERM");
  expect(await once(started, "exit")).toEqual([0, null]);
});
