import { openProcess } from "@herald/common/service/open-process";
import type { Service } from "@herald/common/service/run-service";
import { eventually } from "@herald/dev/harness/eventually";
import { type Link, startLink } from "@herald/dev/harness/link";
import { useDatabase } from "@herald/dev/harness/use-database";
import { freePort } from "@herald/dev/stack/ports";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import request from "supertest";
import { readManagementApiConfig } from "../src/config.ts";
import { API_PREFIX } from "../src/operations.ts";
import { startManagementApi } from "../src/start-management-api.ts";
import { environment, JWT_SECRET, settings, token } from "./support/use-api.ts";

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
  const ofService = environment({
    DATABASE_URL: url.href,
    HTTP_HOST: "127.0.0.1",
    PORT: "0",
    OPERATIONS_PORT: String(operationsPort),
    LOG_LEVEL: "error",
    AUTH_JWT_SECRET: JWT_SECRET,
  });
  const inProcess = await openProcess(["management-api"], readManagementApiConfig(ofService));
  const open: typeof inProcess.open = (name, config, options) => {
    listenedBefore = options.conditions?.http?.();
    return inProcess.open(name, config, options);
  };
  api = await startManagementApi(ofService, { inProcess: { ...inProcess, open } });
});

async function readiness(): Promise<unknown> {
  const response = await fetch(`${operationsUrl}/readyz`, { headers: { connection: "close" } });
  return [response.status, await response.json()];
}

const send = async (method: "get" | "post" | "put" | "delete", path: string, body?: object) =>
  await request(`http://127.0.0.1:${api?.port}${API_PREFIX}`)
    [method](path)
    .set("Authorization", `Bearer ${await token()}`)
    .send(body);

test("without the broker the management API is ready and works, and says that the broker is away", async () => {
  await eventually(async () => expect(await readiness()).toEqual([200, { database: true, broker: false, http: true }]));
  expect((await send("get", "/webhooks")).status).toBe(200);
  const metrics = await (await fetch(`${operationsUrl}/metrics`, { headers: { connection: "close" } })).text();
  expect(metrics).toMatch(/^herald_dependency_up\{dependency="broker",service="management-api"\} 0$/m);
});

test("the management API is not ready before it listens: it would refuse requests that are sent to it then", async () => {
  expect(listenedBefore).toBe(false);
  await eventually(async () => expect(await readiness()).toMatchObject([200, { http: true }]));
});

test("while PostgreSQL is away the API is not ready, and every operation that needs it is a 503 that says when to try again; afterwards all work", async () => {
  const { id, version } = (await send("post", "/webhooks", settings())).body.endpoint;
  isOpen = false;
  link?.cut();
  await eventually(async () =>
    expect(await readiness()).toEqual([503, { database: false, broker: false, http: true }]),
  );
  const refused = [
    await send("get", "/webhooks"),
    await send("post", "/webhooks", settings()),
    await send("get", "/webhooks/overview"),
    await send("get", `/webhooks/${id}`),
    await send("put", `/webhooks/${id}`, settings({ version })),
    await send("delete", `/webhooks/${id}`, { version }),
    await send("post", `/webhooks/${id}/deliver`, { eventType: "WorkItemCompleted", payloadJson: "{}" }),
    await send("get", `/webhooks/${id}/deliveries`),
    await send("get", `/webhooks/${id}/deliveries/${id}`),
  ];
  for (const response of refused) {
    expect([response.status, response.body.code]).toEqual([503, "database_unavailable"]);
    expect(Number(response.headers["retry-after"])).toBeGreaterThan(0);
    expect(response.text).not.toMatch(/127\.0\.0\.1|prisma|ECONN/i);
  }
  expect((await send("get", "/session")).status).toBe(200);

  isOpen = true;
  await eventually(async () => expect(await readiness()).toEqual([200, { database: true, broker: false, http: true }]));
  await eventually(async () => expect((await send("get", "/webhooks")).body).toMatchObject([{ id, version }]));
});
