import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { eventually } from "@herald/dev/harness/eventually";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { openSession } from "../../src/database/client.ts";
import { isDatabaseOutage } from "../../src/database/errors.ts";
import { type Database, openDatabase } from "../../src/database/open-database.ts";

const postgres = useDatabase();
const STATEMENT_TIMEOUT_MS = 300;

/** A proxy to PostgreSQL whose connections can fall silent. */
let proxy: Server;
let connections: { client: Socket; server: Socket; silent: boolean }[];
let database: Database;
let url: string;

beforeEach(async () => {
  connections = [];
  // A silent side does not even close its half when the other one does.
  proxy = createServer({ allowHalfOpen: true }, (client) => {
    const target = new URL(postgres.url);
    const server = connect({ port: Number(target.port), host: target.hostname, allowHalfOpen: true });
    const pair = { client, server, silent: false };
    connections.push(pair);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on("data", (bytes) => void (pair.silent || to.write(bytes)));
      from.on("end", () => void (pair.silent || to.end()));
      from.on("error", () => undefined);
      from.on("close", () => void (pair.silent || to.destroy()));
    }
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const address = new URL(postgres.url);
  address.port = String((proxy.address() as AddressInfo).port);
  url = address.href;
  database = openDatabase(url, { poolSize: 2, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
});

afterEach(async () => {
  for (const { client, server } of connections) {
    client.destroy();
    server.destroy();
  }
  await database.close();
  await new Promise((resolve) => proxy.close(resolve));
});

test("a server that falls silent fails a statement after its timeout, and the next statements use another connection", async () => {
  await database.prisma.$queryRaw`select 1`;
  expect(connections).toHaveLength(1);
  for (const pair of connections) pair.silent = true;
  const error = await database.prisma.$queryRaw`select 1`.catch((reason: unknown) => reason);
  expect(isDatabaseOutage(error)).toBe(true);
  await database.prisma.$queryRaw`select 1`;
  expect(connections).toHaveLength(2);
  await eventually(() => expect(connections[0]?.client.readableEnded).toBe(true));
  // Without a limit, TCP gives up after a quarter of an hour: long after this test's own time.
});

test("if the connection that asks PostgreSQL for its time falls silent, another one soon asks", async () => {
  await database.ping();
  for (const pair of connections) pair.silent = true;
  await eventually(() => expect(database.ping()).rejects.toThrow("Query read timeout"));
  await eventually(() => database.ping());
  expect(connections).toHaveLength(2);
});

test("a connection to a server that has fallen silent is closed all the same", async () => {
  const session = await openSession(url, { applicationName: "herald-test" });
  await session.query("select 1");
  for (const pair of connections) pair.silent = true;
  await session.close();
  // Without a limit, TCP gives up after a quarter of an hour here too.
});
