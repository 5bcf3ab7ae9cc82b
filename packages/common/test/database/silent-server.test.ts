import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { isDatabaseOutage } from "../../src/database/errors.ts";
import { type Database, openDatabase } from "../../src/database/open-database.ts";

const postgres = useDatabase();
const STATEMENT_TIMEOUT_MS = 300;

/** A way to PostgreSQL on which the other end can vanish without a word. */
let road: Server;
let travellers: { client: Socket; server: Socket; silent: boolean }[];
let database: Database;

beforeEach(async () => {
  travellers = [];
  road = createServer((client) => {
    const target = new URL(postgres.url);
    const server = connect(Number(target.port), target.hostname);
    const pair = { client, server, silent: false };
    travellers.push(pair);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on("data", (bytes) => void (pair.silent || to.write(bytes)));
      from.on("error", () => undefined);
      from.on("close", () => void (pair.silent || to.destroy()));
    }
  });
  road.listen(0, "127.0.0.1");
  await once(road, "listening");
  const url = new URL(postgres.url);
  url.port = String((road.address() as AddressInfo).port);
  database = openDatabase(url.href, { poolSize: 2, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
});

afterEach(async () => {
  for (const { client, server } of travellers) {
    client.destroy();
    server.destroy();
  }
  await database.close();
  await new Promise((resolve) => road.close(resolve));
});

test("a server that is gone without a word fails a statement soon after its time, and the next ones use another connection", async () => {
  await database.ping();
  expect(travellers).toHaveLength(1);
  for (const pair of travellers) pair.silent = true;
  const startedAt = performance.now();
  const error = await database.prisma.$queryRaw`select 1`.catch((reason: unknown) => reason);
  expect(isDatabaseOutage(error)).toBe(true);
  expect(performance.now() - startedAt).toBeLessThan(STATEMENT_TIMEOUT_MS + 5_000);
  await database.ping();
  expect(travellers).toHaveLength(2);
  expect(travellers[0]?.client.destroyed).toBe(true);
}, 20_000);
