import { createServer as createHttpServer, type Server } from "node:http";
import { type AddressInfo, connect, createServer, type Socket, type Server as TcpServer } from "node:net";
import { type Database, openDatabase } from "@herald/common/database/open-database";
import { systemClock } from "@herald/common/runtime/clock";
import { createRegistry } from "@herald/common/telemetry/metrics";
import { eventually } from "@herald/testkit/harness/eventually";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import supertest from "supertest";
import { createApp } from "../src/app.ts";
import { readManagementApiConfig } from "../src/config.ts";
import { API_PREFIX } from "../src/operations.ts";
import { settings } from "./support/endpoints.ts";
import { JWT_SECRET, token } from "./support/tokens.ts";
import { SECRET_KEYS } from "./support/use-api.ts";

/** A way to PostgreSQL that can be closed and opened again. */
class Road {
  readonly #sockets = new Set<Socket>();
  readonly #target: URL;
  #server: TcpServer | undefined;
  #port = 0;

  constructor(url: string) {
    this.#target = new URL(url);
  }

  async open(): Promise<void> {
    this.#server = createServer((near) => {
      const far = connect(Number(this.#target.port), this.#target.hostname);
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => {
          near.destroy();
          far.destroy();
          this.#sockets.delete(socket);
        });
      }
      near.pipe(far).pipe(near);
    });
    await new Promise<void>((resolve) => this.#server?.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  get url(): string {
    const url = new URL(this.#target);
    url.host = `127.0.0.1:${this.#port}`;
    return url.href;
  }
}

let road: Road;
let database: Database;
let server: Server;

// Before the test database looks for connections that are left.
afterAll(async () => {
  await database.close();
  await road.close();
  await new Promise((resolve) => server.close(resolve));
});

const postgres = useDatabase();

beforeAll(async () => {
  road = new Road(postgres.url);
  await road.open();
  database = openDatabase(road.url, { connectTimeoutMs: 500 });
  const config = readManagementApiConfig({
    DATABASE_URL: road.url,
    AMQP_URL: "amqp://127.0.0.1:1",
    SECRET_KEYS,
    AUTH_JWT_SECRET: JWT_SECRET,
  });
  const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, isDebug: false };
  const registry = createRegistry("management-api");
  const requestAttempt = async () => {};
  server = createHttpServer(createApp({ config, database, requestAttempt, clock: systemClock, log: quiet, registry }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

const send = async (method: "get" | "post" | "put" | "delete", path: string, body?: object) =>
  await supertest(server)
    [method](API_PREFIX + path)
    .set("Authorization", `Bearer ${await token()}`)
    .send(body);

describe("PostgreSQL is away", () => {
  test("every operation that needs it is a 503 that says when to try again; when it's back, all is well", async () => {
    const { body } = await send("post", "/webhooks", settings());
    const { id, version } = body.endpoint;
    await road.close();
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

    await road.open();
    await eventually(async () => expect((await send("get", "/webhooks")).body).toMatchObject([{ id, version }]));
  });
});
