import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { startEndingPostgres } from "@herald/dev/harness/ending-postgres";
import { eventually } from "@herald/dev/harness/eventually";
import { ODD_SETTINGS, setUserSettings } from "@herald/dev/harness/odd-settings";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { openSession } from "../../src/database/client.ts";
import { isDatabaseOutage } from "../../src/database/errors.ts";
import { type Database, openDatabase } from "../../src/database/open-database.ts";
import { nullable } from "../../src/database/queries.ts";

const stored = useDatabase({ migrated: false });

test("a database that is closed again stays closed, without a complaint: a process may get two signals to stop", async () => {
  const database = openDatabase(stored.url);
  await database.ping();
  await Promise.all([database.close(), database.close()]);
  await database.close();
  await expect(database.ping()).rejects.toThrow();
});

test("a ping doesn't wait for the connections that work holds", async () => {
  const database = openDatabase(stored.url, { poolSize: 1 });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  try {
    const working = database.prisma.$transaction(() => ended, { timeout: 100_000 });
    await database.ping();
    end();
    await working;
  } finally {
    end();
    await database.close();
  }
});

test.each(ODD_SETTINGS)(
  "regression: a user whose sessions have %s = %s gets the values that were stored, and the time",
  async (setting, value) => {
    await setUserSettings(stored, [[setting, value]]);
    const database = openDatabase(stored.url);
    try {
      const at = new Date("2026-02-03T04:05:06.789Z");
      const bytes = Buffer.from([0, 92, 255]);
      const asIs = (value: unknown) => value;
      const texts = ["a\\b", null, "NULL", "ü"];
      const read = await database.queries.$queryRaw<object[]>`
          select ${at}::timestamptz as at, array[${at}::timestamptz] as times, ${bytes}::bytea as bytes,
            ${nullable(texts, asIs)} as texts, ${nullable([7, null], asIs, "int", "0")} as numbers,
            ${nullable([null, at], asIs, "timestamptz", "infinity")} as due`;
      expect(read).toEqual([{ at, times: [at], bytes, texts, numbers: [7, null], due: [null, at] }]);
      await database.ping();
      // PostgreSQL runs on this machine. A time that was rounded is days off.
      expect(Math.abs(database.clock.now().getTime() - Date.now())).toBeLessThan(60_000);
    } finally {
      await database.close();
    }
  },
);

/** The names of the statements that a new connection keeps. The statement that asks is the first. */
async function preparedNames(flag: "true" | "false"): Promise<string[]> {
  const url = new URL(stored.url);
  url.searchParams.set("pgbouncer", flag);
  const database = openDatabase(url.href, { poolSize: 1 });
  try {
    const rows = await database.queries.$queryRaw<{ name: string }[]>`
      select name from pg_prepared_statements where name like ${"herald%"}::text`;
    return rows.map(({ name }) => name);
  } finally {
    await database.close();
  }
}

test("a statement is prepared under a name that every process gives it, and under none if the URL says pgbouncer=true", async () => {
  const names = await preparedNames("false");
  expect(names).toEqual([expect.stringMatching(/^herald_[0-9a-f]{32}$/)]);
  expect(await preparedNames("false")).toEqual(names);
  expect(await preparedNames("true")).toEqual([]);
});

test.each([
  ["is missing", "deallocate all", "26000"],
  ["is taken", (name: string) => `prepare ${name} as select 1`, "42P05"],
] as const)("a prepared statement whose name %s, as behind a pooler, is reported", async (_what, spoil, code) => {
  let lost = 0;
  const database = openDatabase(stored.url, { poolSize: 1, onStatementLost: () => void lost++ });
  try {
    const ask = () => database.queries.$queryRaw`select 1 as one`;
    if (typeof spoil === "string") {
      await ask();
      expect(lost).toBe(0);
      await database.prisma.$executeRawUnsafe(spoil);
    } else {
      const other = openDatabase(stored.url, { poolSize: 1 });
      await other.queries.$queryRaw`select 1 as one`;
      const [{ name }] = (await other.queries.$queryRaw<{ name: string }[]>`
        select name from pg_prepared_statements where statement = 'select 1 as one'`) as [{ name: string }];
      await other.close();
      await database.prisma.$executeRawUnsafe(spoil(name));
    }
    await expect(ask()).rejects.toMatchObject({ code });
    expect(lost).toBe(1);
  } finally {
    await database.close();
  }
});

test("a password that stands apart, in PGPASSWORD, need not be written as in a URL", async () => {
  const url = new URL(stored.url);
  const before = process.env.PGPASSWORD;
  process.env.PGPASSWORD = decodeURIComponent(url.password);
  url.password = "";
  const database = openDatabase(url.href);
  try {
    await database.ping();
  } finally {
    await database.close();
    if (before === undefined) delete process.env.PGPASSWORD;
    else process.env.PGPASSWORD = before;
  }
});

test("a connection that ends in the moment in which it is handed out fails the query, not the process", async () => {
  const server = await startEndingPostgres();
  const database = openDatabase(server.url);
  const asked = [
    () => database.readsWithin(1_000).$queryRaw`select 1`,
    () => database.queries.$queryRaw`select 1`,
    () => database.prisma.$queryRaw`select 1`,
    () => database.prisma.$transaction((transaction) => transaction.$queryRaw`select 1`),
    () => database.ping(),
  ];
  for (const ask of asked) {
    const error = await ask().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeDefined();
    expect(isDatabaseOutage(error)).toBe(true);
  }
  await database.close();
  await server.close();
});

describe("a server that does not answer", () => {
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
});
