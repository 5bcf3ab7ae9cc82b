import { startEndingPostgres } from "@herald/dev/harness/ending-postgres";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Pool } from "pg";
import { deduplicator, postgresStore, receivedEventTable } from "../src/index.ts";

let pool: Pool;
// Hooks run in their order: this one before those of the harness, which looks for connections that were left open.
afterAll(() => pool.end());
const at = useDatabase();

beforeAll(async () => {
  pool = new Pool({ connectionString: at.url, max: 10 });
  // Every user of a pool must listen: an error of an idle connection would end the process.
  pool.on("error", () => {});
  await pool.query(receivedEventTable());
  await pool.query("create table effect (event text not null)");
});
beforeEach(() => pool.query("truncate herald_received_event, effect"));

const insertEffect = "insert into effect (event) values ($1)";
const effects = async () => (await pool.query<{ event: string }>("select event from effect order by 1")).rows;

describe("with a pool", () => {
  const acceptOnce = () => deduplicator(postgresStore({ pool }));

  test("§4.4.7 an event is persisted once per endpoint", async () => {
    const accept = (endpoint: string, id: string) =>
      acceptOnce()(endpoint, id, (client) => client.query(insertEffect, [`${endpoint} ${id}`]));
    expect(await accept("a", "1")).toBe("accepted");
    expect(await accept("a", "1")).toBe("duplicate");
    expect(await accept("b", "1")).toBe("accepted");
    expect(await effects()).toEqual([{ event: "a 1" }, { event: "b 1" }]);
  });

  test("§4.4.7 of many calls at once with the same event, one persists it", async () => {
    const accept = () =>
      acceptOnce()("a", "1", async (client) => {
        await client.query("select pg_sleep(0.05)");
        await client.query(insertEffect, ["a 1"]);
      });
    const outcomes = await Promise.all(Array.from({ length: 30 }, accept));
    expect(outcomes.filter((outcome) => outcome === "accepted")).toHaveLength(1);
    expect(await effects()).toHaveLength(1);
  });

  test("an event that could not be persisted leaves nothing, and a call that waited for it persists it", async () => {
    let begun: () => void = () => {};
    const holding = new Promise<void>((resolve) => {
      begun = resolve;
    });
    let fail: (reason: Error) => void = () => {};
    const failed = new Promise<void>((_resolve, reject) => {
      fail = reject;
    });
    const failing = acceptOnce()("a", "1", async (client) => {
      await client.query(insertEffect, ["from the first"]);
      begun();
      await failed;
    });
    await holding;
    const waiting = acceptOnce()("a", "1", (client) => client.query(insertEffect, ["from the second"]));
    fail(new Error("no"));
    await expect(failing).rejects.toThrow("no");
    expect(await waiting).toBe("accepted");
    expect(await effects()).toEqual([{ event: "from the second" }]);
  });

  test("an event whose failed statement was hidden is not taken for persisted", async () => {
    const emission = acceptOnce()("a", "1", (client) => client.query("select 1/0").catch(() => {}));
    await expect(emission).rejects.toThrow(/a statement failed/);
    expect(await acceptOnce()("a", "1", async () => {})).toBe("accepted");
  });

  test("a connection that ends in the moment in which it is handed out fails the event, not the process", async () => {
    const server = await startEndingPostgres();
    const dying = new Pool({ connectionString: server.url });
    await expect(deduplicator(postgresStore({ pool: dying }))("a", "1", async () => {})).rejects.toThrow();
    await dying.end();
    await server.close();
  });

  test("a connection that dies leaves nothing behind, in the table or in the pool", async () => {
    const dying = acceptOnce()("a", "1", (client) => client.query("select pg_terminate_backend(pg_backend_pid())"));
    await expect(dying).rejects.toThrow();
    expect(await acceptOnce()("a", "1", async () => {})).toBe("accepted");
  });
});

describe("with a client in the caller's transaction", () => {
  test("an event is remembered when the caller commits, and not before", async () => {
    const client = await pool.connect();
    const acceptOnce = deduplicator(postgresStore({ client }));
    await client.query("begin");
    expect(await acceptOnce("a", "1", () => client.query(insertEffect, ["a 1"]))).toBe("accepted");
    await client.query("rollback");
    await client.query("begin");
    expect(await acceptOnce("a", "1", () => client.query(insertEffect, ["a 1"]))).toBe("accepted");
    await client.query("commit");
    await client.query("begin");
    expect(await acceptOnce("a", "1", () => client.query(insertEffect, ["a 1"]))).toBe("duplicate");
    await client.query("commit");
    client.release();
    expect(await effects()).toHaveLength(1);
  });

  test("a failure undoes the event, and leaves the caller's transaction usable", async () => {
    const client = await pool.connect();
    const acceptOnce = deduplicator(postgresStore({ client }));
    await client.query("begin");
    await expect(acceptOnce("a", "1", () => client.query("select 1/0"))).rejects.toThrow("division by zero");
    await client.query(insertEffect, ["something else"]);
    await client.query("commit");
    client.release();
    expect(await effects()).toEqual([{ event: "something else" }]);
    expect((await pool.query("select from herald_received_event")).rowCount).toBe(0);
  });

  test("a client without a transaction is refused", async () => {
    const client = await pool.connect();
    const acceptOnce = deduplicator(postgresStore({ client }));
    await expect(acceptOnce("a", "1", async () => {})).rejects.toThrow(/transaction block/);
    client.release();
  });
});

test("the table may have another name, in another schema", async () => {
  await pool.query("create schema inbox");
  await pool.query(receivedEventTable("inbox.Seen"));
  const acceptOnce = deduplicator(postgresStore({ pool, table: "inbox.Seen" }));
  expect(await acceptOnce("a", "1", async () => {})).toBe("accepted");
  expect(await acceptOnce("a", "1", async () => {})).toBe("duplicate");
});
