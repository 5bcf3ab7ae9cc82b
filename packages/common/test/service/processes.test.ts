import { randomUUID } from "node:crypto";
import { eventually } from "@herald/dev/harness/eventually";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, expect, test } from "@jest/globals";
import { type Facts, sayFacts } from "../../src/service/processes.ts";
import type { LogFields } from "../../src/telemetry/log.ts";
import { createRegistry } from "../../src/telemetry/metrics.ts";

const db = useDatabase();
const saying: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(saying.splice(0).map((each) => each.stop()));
  await db.database.prisma.process.deleteMany();
});

async function say(service: string, facts: Facts, queries = db.database.queries, intervalMs?: number) {
  const lines: LogFields[] = [];
  const warn = (_line: string, fields: LogFields = {}) => void lines.push(fields);
  const log = { debug() {}, info() {}, warn, error() {}, isDebug: false };
  const registry = createRegistry(service);
  const id = randomUUID();
  const own = sayFacts({ queries, log, registry }, { id, service, facts: () => facts }, { intervalMs });
  saying.push(own);
  await eventually(async () => expect(await db.database.prisma.process.count({ where: { id } })).toBe(1));
  const differ = async () => Number(/^herald_settings_differ\S* (\d+)$/m.exec(await registry.metrics())?.[1]);
  return { ...own, id, lines, differ };
}

test("a process with another value of a setting says so with both values and services, and counts it", async () => {
  const publisher = await say("publisher", { RETENTION_DAYS: 30, PUBLICATION_WINDOW_DAYS: 7 });
  const api = await say("management-api", { RETENTION_DAYS: 8, PUBLICATION_WINDOW_DAYS: 7 });
  const what = /^RETENTION_DAYS is 8 in management-api \S+, and 30 in publisher \S+\.$/;
  await eventually(async () => expect(await api.differ()).toBe(1));
  expect(api.lines).toEqual([{ setting: "RETENTION_DAYS", what: expect.stringMatching(what) }]);
  expect(publisher.lines).toEqual([]);
});

test("a key that does not fit counts once, where it seals and where it does not open", async () => {
  const api = await say("management-api", { SECRET_SEALING_KEY: "new (2)" }, db.database.queries, 100);
  const dispatcher = await say("dispatcher", { SECRET_KEYS: "old (1)" });
  for (const each of [api, dispatcher]) await eventually(async () => expect(await each.differ()).toBe(1));
});

test("of a process that has ended, nothing is compared", async () => {
  const publisher = await say("publisher", { RETENTION_DAYS: 30 });
  await publisher.stop();
  const api = await say("management-api", { RETENTION_DAYS: 8 });
  await eventually(async () => expect(await api.differ()).toBe(0));
  expect(api.lines).toEqual([]);
});

test("a process knows how many of its service are at work, and takes itself for the only one while PostgreSQL does not say", async () => {
  let isAway = false;
  const { $queryRaw } = db.database.queries;
  const mayFail = ((...args: Parameters<typeof $queryRaw>) =>
    isAway ? Promise.reject(new Error("It is away.")) : $queryRaw(...args)) as typeof $queryRaw;
  const first = await say("management-api", {}, { ...db.database.queries, $queryRaw: mayFail }, 100);
  await say("publisher", {});
  const second = await say("management-api", {});
  for (const each of [first, second]) await eventually(async () => expect(each.processes()).toBe(2));
  isAway = true;
  await eventually(async () => expect(first.processes()).toBe(1));
  isAway = false;
  await eventually(async () => expect(first.processes()).toBe(2));
  await second.stop();
  await eventually(async () => expect(first.processes()).toBe(1));
});

test("a process that was not ready says that it is, however long it waits otherwise", async () => {
  const facts: Record<string, string> = { notReady: "broker" };
  const { id } = await say("publisher", facts, db.database.queries, 3_600_000);
  delete facts.notReady;
  await eventually(async () => {
    const row = await db.database.prisma.process.findUniqueOrThrow({ where: { id } });
    expect(row.facts).toEqual({});
  });
});
