import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { useMariadb } from "@herald/dev/harness/use-mariadb";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/mysql2";
import knex, { type Knex } from "knex";
import { Kysely, sql as kyselySql, MysqlDialect } from "kysely";
import { createPool as createCallbackPool } from "mysql2";
import { createPool, type Pool } from "mysql2/promise";
import { DataSource } from "typeorm";
import { type EmittedEvent, eventJson, newEvent } from "../src/index.ts";
import { createOutbox, outboxTable } from "../src/outbox/index.ts";

// As libraries.test.ts, in MariaDB: the lines of the page are the same there.

// Hooks run in their order: this one runs before those of the harness, which fail on connections that are left open.
afterAll(async () => {
  await dataSource.destroy();
  await byKnex.destroy();
  await byKysely.destroy();
  await pool.end();
});

const at = useMariadb();
const outbox = createOutbox({ dialect: "mysql" });

let pool: Pool;
let byKnex: Knex;
let byKysely: Kysely<object>;
let dataSource: DataSource;

beforeAll(async () => {
  pool = createPool(at.url);
  await pool.query(outboxTable("herald_outbox", "mysql"));
  byKnex = knex({ client: "mysql2", connection: at.url, pool: { min: 0, max: 1 } });
  byKysely = new Kysely<object>({ dialect: new MysqlDialect({ pool: createCallbackPool(at.url) }) });
  dataSource = await new DataSource({ type: "mariadb", url: at.url }).initialize();
});

type Transaction = (event: EmittedEvent, end: () => void) => Promise<unknown>;

/** Each library's transaction, with the line that the page shows in it. `end` throws where the transaction is to be rolled back. */
const libraries: Record<string, Transaction> = {
  mysql2: async (event, end) => {
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    try {
      await outbox.add(connection, event);
      end();
      await connection.commit();
    } catch (error) {
      await connection.rollback();
      throw error;
    } finally {
      connection.release();
    }
  },
  Drizzle: (event, end) => {
    const sql = drizzleSql;
    return drizzle({ client: pool }).transaction(async (tx) => {
      await tx.execute(sql`insert into herald_outbox (event) values (${eventJson(event)})`);
      end();
    });
  },
  Kysely: (event, end) => {
    const sql = kyselySql;
    return byKysely.transaction().execute(async (trx) => {
      await sql`insert into herald_outbox (event) values (${eventJson(event)})`.execute(trx);
      end();
    });
  },
  Knex: (event, end) =>
    byKnex.transaction(async (trx) => {
      await trx("herald_outbox").insert({ event: eventJson(event) });
      end();
    }),
  TypeORM: (event, end) =>
    dataSource.transaction(async (manager) => {
      await outbox.add(manager, event);
      end();
    }),
};

test.each(Object.entries(libraries))(
  "%s fills the outbox in MariaDB if its transaction commits, and only then",
  async (_name, run) => {
    await pool.query("truncate table herald_outbox");
    const anEvent = () =>
      newEvent({
        organizationId: "org-1",
        type: "RiskCreated",
        entityType: "Risk",
        entityId: randomUUID(),
        data: { changes: { Title: { oldValue: null, newValue: `It's "new" \\ 100 % 🎉?` } } },
      });
    const [committed, rolledBack] = [anEvent(), anEvent()];
    await run(committed, () => undefined);
    const end = () => {
      throw new Error("roll back");
    };
    await expect(run(rolledBack, end)).rejects.toThrow("roll back");
    const [rows] = await pool.query("select event from herald_outbox");
    expect(rows).toEqual([{ event: eventJson(committed) }]);
  },
);

test("the lines of the page on emitting are these, for each library that is tried here", () => {
  const page = readFileSync(new URL("../../../docs/emitting-events.md", import.meta.url), "utf8");
  const source = readFileSync(new URL(import.meta.url), "utf8");
  const shown = [...page.matchAll(/^\| (\w+) \| `{1,2} ?(await .*?) ?`{1,2} \|$/gm)];
  const tried = shown.filter(([, name = ""]) => name in libraries);
  expect(tried.map(([, name]) => name)).toEqual(["Drizzle", "Kysely", "Knex", "TypeORM"]);
  for (const [, , line = ""] of tried) expect(source).toContain(line);
});
