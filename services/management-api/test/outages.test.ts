import { createServer, type Server } from "node:http";
import { PARTITION_MISSING } from "@herald/common/database/errors";
import { type Database, openDatabase } from "@herald/common/database/open-database";
import { machineClock } from "@herald/common/runtime/clock";
import { createRegistry } from "@herald/common/telemetry/metrics";
import { eventually } from "@herald/dev/harness/eventually";
import { type Link, startLink } from "@herald/dev/harness/link";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import supertest from "supertest";
import { createApp } from "../src/app.ts";
import { readManagementApiConfig } from "../src/config.ts";
import { API_PREFIX } from "../src/operations.ts";
import { JWT_SECRET, SECRET_SEALING_KEY, settings, token } from "./support/use-api.ts";

/** The way to PostgreSQL. While `isOpen` is false, it takes no connection. */
let link: Link;
let isOpen = true;
let database: Database;
let server: Server;
/** The errors. */
const logged: string[] = [];

// Before the test database looks for connections that are left.
afterAll(async () => {
  await database.close();
  await link.close();
  await new Promise((resolve) => server.close(resolve));
});

const postgres = useDatabase();

beforeAll(async () => {
  const target = new URL(postgres.url);
  link = await startLink(() => (isOpen ? [target] : []));
  const url = new URL(target);
  url.host = `127.0.0.1:${link.port}`;
  database = openDatabase(url.href);
  const config = readManagementApiConfig({
    HERALD_ENV: "development",
    DATABASE_URL: url.href,
    AMQP_URL: "amqp://127.0.0.1:1",
    SECRET_SEALING_KEY,
    AUTH_JWT_SECRET: JWT_SECRET,
  });
  const error = (message: string) => logged.push(message);
  const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error, isDebug: false };
  const registry = createRegistry("management-api");
  const ignored = async () => {};
  server = createServer(
    createApp({
      config,
      database,
      requestAttempt: ignored,
      tellOwner: ignored,
      clock: machineClock,
      log: quiet,
      registry,
      processes: () => 1,
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

const send = async (method: "get" | "post" | "put" | "delete", path: string, body?: object) =>
  await supertest(server)
    [method](API_PREFIX + path)
    .set("Authorization", `Bearer ${await token()}`)
    .send(body);

describe("PostgreSQL is away", () => {
  test("while PostgreSQL is away every operation that needs it is a 503 that says when to try again; afterwards all work", async () => {
    const { body } = await send("post", "/webhooks", settings());
    const { id, version } = body.endpoint;
    isOpen = false;
    link.cut();
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
    await eventually(async () => expect((await send("get", "/webhooks")).body).toMatchObject([{ id, version }]));
  });
});

test("without a partition for the time, since no publisher runs, a manual delivery is a 503, and the log says what to do", async () => {
  const { id } = (await send("post", "/webhooks", settings())).body.endpoint;
  await postgres.database.prisma.$executeRaw`select drop_partitions('1970-01-01')`;
  const request = { eventType: "WorkItemCompleted", payloadJson: "{}" };
  const { status, body } = await send("post", `/webhooks/${id}/deliver`, request);
  expect([status, body.code]).toEqual([503, "database_unavailable"]);
  expect(logged.at(-1)).toContain(PARTITION_MISSING);
});
