import { eventually } from "@herald/dev/harness/eventually";
import { serviceEnvironment, useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, expect, test } from "@jest/globals";
import { serviceSettings } from "../../src/config/common-settings.ts";
import { readConfig } from "../../src/config/read-config.ts";
import { type OpenProcess, openProcess, type ServiceConfig } from "../../src/service/open-process.ts";
import { Counter } from "../../src/telemetry/metrics.ts";

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  // The services before what they share.
  for (const each of opened.splice(0).reverse()) await each.close();
});
const db = useDatabase();
const broker = useBroker();

const config = (): ServiceConfig =>
  readConfig(serviceSettings, { ...serviceEnvironment(db.url, broker), DATABASE_POOL_SIZE: "2" });

async function open(): Promise<OpenProcess> {
  const shared = await openProcess(["publisher", "dispatcher"], config());
  opened.push(shared);
  return {
    ...shared,
    async open(...of: Parameters<OpenProcess["open"]>) {
      const service = await shared.open(...of);
      opened.push(service);
      return service;
    },
  };
}

async function ask({ operationsPort }: OpenProcess, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${operationsPort}${path}`, { headers: { connection: "close" } });
  return { status: response.status, text: await response.text() };
}

test("a process of several services is ready when each has started and the conditions of each hold", async () => {
  const shared = await open();
  let isOutage = true;
  const publisher = await shared.open("publisher", config(), { facts: {} });
  await shared.open("dispatcher", config(), { facts: {}, conditions: { network: () => !isOutage } });
  await publisher.broker.ready();
  const readiness = async () => {
    const { status, text } = await ask(shared, "/readyz");
    return { status, ...JSON.parse(text) };
  };
  const servers = { database: true, broker: true };
  shared.markStarted("publisher");
  await eventually(async () =>
    expect(await readiness()).toEqual({ status: 503, ...servers, publisher: true, dispatcher: false, network: false }),
  );
  shared.markStarted("dispatcher");
  expect(await readiness()).toEqual({ status: 503, ...servers, publisher: true, dispatcher: true, network: false });
  isOutage = false;
  expect(await readiness()).toEqual({ status: 200, ...servers, publisher: true, dispatcher: true, network: true });
});

test("a process says in its row from its start what is not ready", async () => {
  const shared = await open();
  const { id, broker } = await shared.open("publisher", config(), { facts: {} });
  const row = () => db.database.prisma.process.findUniqueOrThrow({ where: { id } });
  const { facts } = await eventually(row);
  expect(facts).toMatchObject({ notReady: expect.stringContaining("dispatcher") });
  shared.markStarted("publisher");
  shared.markStarted("dispatcher");
  await broker.ready();
  await eventually(async () => expect((await row()).facts).not.toHaveProperty("notReady"));
});

test("a service that closes leaves to the others what they share, and its metrics bear its own name", async () => {
  const shared = await open();
  const publisher = await shared.open("publisher", config(), { facts: {} });
  const dispatcher = await shared.open("dispatcher", config(), { facts: {} });
  new Counter({ name: "attempts_total", help: "Attempts.", registers: [dispatcher.registry] }).inc(3);
  await publisher.close();
  expect(await dispatcher.database.queries.$queryRaw`select 1 as one`).toEqual([{ one: 1 }]);
  await dispatcher.broker.ready();
  // A commit needs the service's row, which is written after the start.
  const text = await eventually(async () => {
    const { text } = await ask(shared, "/metrics");
    expect(text).toContain('herald_dependency_up{dependency="database",service="publisher"} 1\n');
    return text;
  });
  expect(text).toContain('attempts_total{service="dispatcher"} 3\n');
  expect(text).toMatch(/^process_resident_memory_bytes\{service="serve"\} \d+$/m);
  await expect(shared.open("management-api", config(), { facts: {} })).rejects.toThrow("management-api is none of");
});
