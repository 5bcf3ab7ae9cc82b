import { randomUUID } from "node:crypto";
import { eventually } from "@herald/dev/harness/eventually";
import { useMariadb } from "@herald/dev/harness/use-mariadb";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { createPool, type Pool, type PoolOptions } from "mysql2/promise";
import { eventJson, type NewEvent, newEvent } from "../src/index.ts";
import {
  createOutbox,
  type MysqlConnection,
  type MysqlPool,
  outboxTable,
  type Relay,
  type RelayOptions,
  readOutboxLag,
  startRelay,
} from "../src/outbox/index.ts";

// What outbox.test.ts does not ask, since only MariaDB and MySQL have it: modes of the server, options of the driver, locks of gaps.

// Hooks run in their order: this one runs before those of the harness, which fail on connections that are left open.
afterAll(async () => {
  for (const pool of pools) await pool.end();
});

const at = useMariadb();
const outbox = createOutbox({ dialect: "mysql" });
const pools: Pool[] = [];
const relays: Relay[] = [];
let pool: Pool;

function open(options: PoolOptions = {}): Pool {
  const opened = createPool({ uri: at.url, ...options });
  pools.push(opened);
  return opened;
}

beforeAll(async () => {
  pool = open();
  await pool.query(outboxTable("herald_outbox", "mysql"));
});

afterEach(async () => {
  await Promise.all(relays.splice(0).map((relay) => relay.close()));
  await pool.query("truncate table herald_outbox");
});

function start(options: Partial<RelayOptions> = {}): void {
  relays.push(startRelay({ pool, emitter: { emitJson: async () => {} }, pollIntervalMs: 20, ...options }));
}

const anEvent = (changes: Partial<NewEvent> = {}) =>
  newEvent({ organizationId: "acme", type: "RiskCreated", entityType: "Risk", entityId: randomUUID(), ...changes });

async function rowsOf<Row>(sql: string): Promise<Row[]> {
  const [rows] = await pool.query(sql);
  return rows as Row[];
}

/** A pool whose connections stop before a statement until `go` is called. */
function stoppingBefore(statement: RegExp): { pool: MysqlPool; stopped: Promise<void>; go(): void } {
  let go = () => {};
  let stop = () => {};
  const gone = new Promise<void>((resolve) => {
    go = resolve;
  });
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  return {
    stopped,
    go,
    pool: {
      async getConnection() {
        const connection: MysqlConnection = await pool.getConnection();
        return {
          query: async (sql, values) => {
            if (statement.test(sql)) {
              stop();
              await gone;
            }
            return await connection.query(sql, values);
          },
          execute: (sql, values) => connection.execute(sql, values),
          release: () => connection.release(),
          destroy: () => connection.destroy(),
        };
      },
    },
  };
}

test("while a relay erases what is old, a service's INSERT waits for nothing", async () => {
  await pool.query(
    "insert into herald_outbox (event, sent_at) select '{}', utc_timestamp(6) - interval 8 day from seq_1_to_100",
  );
  const erasing = stoppingBefore(/^delete/);
  start({ pool: erasing.pool });
  await erasing.stopped;
  const service = await pool.getConnection();
  try {
    await service.query("set session innodb_lock_wait_timeout = 1");
    await outbox.add(service, anEvent());
  } finally {
    await service.query("set session innodb_lock_wait_timeout = default");
    service.release();
    erasing.go();
  }
  await eventually(async () => expect(await rowsOf("select 1 from herald_outbox")).toHaveLength(1));
});

test("while a relay sends, the server would end its idle connection after a minute, and afterwards as before", async () => {
  const [{ usual } = { usual: 0 }] = await rowsOf<{ usual: number }>("select @@session.wait_timeout as usual");
  const sole = open({ connectionLimit: 1 });
  const limits: unknown[] = [];
  let connection: MysqlConnection | undefined;
  const limit = async () => {
    const [rows] = (await connection?.query("select @@session.wait_timeout as seconds")) ?? [];
    return (rows as { seconds: number }[])[0]?.seconds;
  };
  await outbox.add(pool, anEvent());
  start({
    pool: {
      getConnection: async () => {
        connection = await sole.getConnection();
        return connection;
      },
    },
    emitter: { emitJson: async () => void limits.push(await limit()) },
  });
  await eventually(async () =>
    expect(await rowsOf("select 1 from herald_outbox where sent_at is not null")).toHaveLength(1),
  );
  await relays.pop()?.close();
  expect(usual).not.toBe(60);
  expect([limits, await limit()]).toEqual([[60], usual]);
});

test("whatever the server's mode is, text arrives as it was written, and a reason is stored as it is", async () => {
  const strange = open();
  strange.pool.on("connection", (connection) => {
    connection.query("set session sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,STRICT_ALL_TABLES'", () => undefined);
  });
  const text = `'; drop table herald_outbox; -- \\' " \\" \` % ? 🎉`;
  const event = anEvent({ data: { changes: { [text]: { oldValue: null, newValue: text } } } });
  const broken = JSON.stringify({ ...anEvent(), data: { changes: { [text]: 7 } } });
  await outbox.add(strange, event);
  await strange.execute("insert into herald_outbox (event) values (?)", [broken]);
  const sent: string[] = [];
  start({ pool: strange, emitter: { emitJson: async (json) => void sent.push(json) } });
  await eventually(async () => {
    expect(await rowsOf("select refused from herald_outbox where state = 2")).toEqual([
      { refused: expect.stringContaining(`data.changes.${text} must be`) },
    ]);
  });
  expect(sent).toEqual([eventJson(event)]);
});

test("a row that was set aside is sent once the service has repaired it", async () => {
  await pool.query("insert into herald_outbox (event) values ('{}')");
  const sent: string[] = [];
  start({ emitter: { emitJson: async (json) => void sent.push(json) } });
  await eventually(async () =>
    expect(await rowsOf("select 1 from herald_outbox where refused is not null")).toHaveLength(1),
  );
  const event = eventJson(anEvent());
  await pool.query("update herald_outbox set event = ?, refused = null", [event]);
  await eventually(() => expect(sent).toEqual([event]));
});

test("the lag is in numbers, also from a pool that gives big numbers as text", async () => {
  await pool.query("insert into herald_outbox (event, added_at) values ('{}', utc_timestamp(6) - interval 1 hour)");
  const lag = await readOutboxLag({
    pool: open({ supportBigNumbers: true, bigNumberStrings: true, dateStrings: true }),
  });
  expect(lag).toEqual({ waiting: 1, oldestSeconds: expect.any(Number), refused: 0 });
  expect(lag.oldestSeconds).toBeGreaterThanOrEqual(3_600);
});
