import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@herald/dev/harness/eventually";
import { useOwnPostgres } from "@herald/dev/harness/own-postgres";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { serviceEnvironment, useBroker } from "@herald/dev/harness/use-broker";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { serviceSettings } from "../../src/config/common-settings.ts";
import { readConfig } from "../../src/config/read-config.ts";
import { type OpenService, openProcess } from "../../src/service/open-process.ts";

let service: OpenService | undefined;
// Before the servers end.
afterAll(() => service?.close());
const postgres = useOwnPostgres();
const broker = useBroker();

beforeAll(async () => {
  const config = readConfig(serviceSettings, serviceEnvironment(postgres.url(), broker));
  const { open } = await openProcess(["publisher"], config);
  service = await open("publisher", config, { facts: {} });
}, STACK_TIMEOUT_MS);

async function get(path: string): Promise<string> {
  const url = `http://127.0.0.1:${service?.operationsPort}${path}`;
  return await (await fetch(url, { headers: { connection: "close" } })).text();
}
const isReady = async () => JSON.parse(await get("/readyz")).database as boolean;
const metric = async (name: string) =>
  Number(new RegExp(`^${name}(?:\\{.*\\})? (.*)$`, "m").exec(await get("/metrics"))?.[1]);
const upOf = 'herald_dependency_up\\{dependency="database",service="publisher"\\}';
const soon = { timeoutMs: 60_000 };

async function system(change: string): Promise<void> {
  await postgres.run(`alter system ${change}`);
  await postgres.run("select pg_reload_conf()");
}

test.each([
  [
    "a commit that hangs, since a standby does not answer",
    () => system("set synchronous_standby_names = 'gone'"),
    () => system("reset synchronous_standby_names"),
  ],
  [
    "a read-only database",
    () => system("set default_transaction_read_only = on"),
    () => system("reset default_transaction_read_only"),
  ],
  [
    "a right that was revoked",
    () => postgres.run("revoke update on process from herald_app"),
    () => postgres.run("grant update on process to herald_app"),
  ],
])(
  "%s is not ready, and ready when it is mended",
  async (_, breakIt, mend) => {
    await eventually(async () => expect(await isReady()).toBe(true), soon);
    await breakIt();
    await eventually(async () => expect(await isReady()).toBe(false), soon);
    expect(await metric(upOf)).toBe(0);
    await mend();
    await eventually(async () => expect(await isReady()).toBe(true), soon);
  },
  STACK_TIMEOUT_MS,
);

test(
  "a statement that is refused again and again is a metric, and then not ready, until it succeeds",
  async () => {
    await postgres.run("revoke insert on erasure from herald_app");
    const { queries } = (service as OpenService).database;
    const erase = () => queries.$executeRaw`
      insert into erasure (endpoint_id, due_at, until) values (gen_random_uuid(), now(), now())`;
    await eventually(async () => {
      await expect(erase()).rejects.toThrow("permission denied");
      expect(await isReady()).toBe(false);
    }, soon);
    expect(await metric("herald_database_failing_seconds")).toBeGreaterThan(9);
    await postgres.run("grant insert on erasure to herald_app");
    await erase();
    expect(await metric("herald_database_failing_seconds")).toBe(0);
    // A second later, since a commit answers all checks of a second.
    await sleep(1_000);
    expect(await isReady()).toBe(true);
  },
  STACK_TIMEOUT_MS,
);
