import { openProcess } from "@herald/common/service/open-process";
import type { Service } from "@herald/common/service/run-service";
import { eventually } from "@herald/dev/harness/eventually";
import { type Link, startLink } from "@herald/dev/harness/link";
import { useDatabase } from "@herald/dev/harness/use-database";
import { freePort } from "@herald/dev/stack/ports";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { readManagementApiConfig } from "../src/config.ts";
import { API_PREFIX } from "../src/operations.ts";
import { startManagementApi } from "../src/start-management-api.ts";
import { AUDIENCE, ISSUER, JWT_SECRET, SECRET_SEALING_KEY, token } from "./support/use-api.ts";

let api: (Service & { port: number }) | undefined;
let link: Link | undefined;
let isOpen = true;
let operationsUrl = "";
/** The condition when the service was opened, before it listened. */
let listenedBefore: unknown;
// Before the database looks for connections that are left.
afterAll(async () => {
  await api?.stop();
  await link?.close();
});
const postgres = useDatabase();

beforeAll(async () => {
  const target = new URL(postgres.url);
  link = await startLink(() => (isOpen ? [target] : []));
  const url = new URL(target);
  url.host = `127.0.0.1:${link.port}`;
  const operationsPort = await freePort();
  operationsUrl = `http://127.0.0.1:${operationsPort}`;
  const environment = {
    HERALD_ENV: "development",
    DATABASE_URL: url.href,
    // Nothing listens there.
    AMQP_URL: "amqp://127.0.0.1:1",
    HTTP_HOST: "127.0.0.1",
    PORT: "0",
    OPERATIONS_PORT: String(operationsPort),
    LOG_LEVEL: "error",
    SECRET_SEALING_KEY,
    AUTH_JWT_SECRET: JWT_SECRET,
    AUTH_ISSUER: ISSUER,
    AUTH_AUDIENCE: AUDIENCE,
  };
  const inProcess = await openProcess(["management-api"], readManagementApiConfig(environment));
  const open: typeof inProcess.open = (name, config, options) => {
    listenedBefore = options.conditions?.http?.();
    return inProcess.open(name, config, options);
  };
  api = await startManagementApi(environment, { inProcess: { ...inProcess, open } });
});

async function readiness(): Promise<unknown> {
  const response = await fetch(`${operationsUrl}/readyz`, { headers: { connection: "close" } });
  return [response.status, await response.json()];
}

test("without the broker the management API is ready and works, and says that the broker is away", async () => {
  await eventually(async () => expect(await readiness()).toEqual([200, { database: true, broker: false, http: true }]));
  const response = await fetch(`http://127.0.0.1:${api?.port}${API_PREFIX}/webhooks`, {
    headers: { authorization: `Bearer ${await token()}`, connection: "close" },
  });
  expect(response.status).toBe(200);
  const metrics = await (await fetch(`${operationsUrl}/metrics`, { headers: { connection: "close" } })).text();
  expect(metrics).toMatch(/^herald_dependency_up\{dependency="broker",service="management-api"\} 0$/m);
});

test("the management API is not ready before it listens: it would refuse requests that are sent to it then", async () => {
  expect(listenedBefore).toBe(false);
  await eventually(async () => expect(await readiness()).toMatchObject([200, { http: true }]));
});

test("without PostgreSQL the management API is not ready", async () => {
  isOpen = false;
  link?.cut();
  await eventually(async () =>
    expect(await readiness()).toEqual([503, { database: false, broker: false, http: true }]),
  );
  isOpen = true;
  await eventually(async () => expect(await readiness()).toEqual([200, { database: true, broker: false, http: true }]));
});
