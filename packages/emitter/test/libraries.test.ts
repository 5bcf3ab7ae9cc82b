import { readFileSync } from "node:fs";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { EntitySchema, MikroORM } from "@mikro-orm/postgresql";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import knex, { type Knex } from "knex";
import { Kysely, sql as kyselySql, PostgresDialect } from "kysely";
import { Model } from "objection";
import { Pool, type PoolClient } from "pg";
import pgPromise, { type IDatabase } from "pg-promise";
import postgres, { type Sql } from "postgres";
import { Sequelize } from "sequelize";
import { createPool, type DatabasePool, sql as slonikSql } from "slonik";
import { DataSource } from "typeorm";
import { type EmittedEvent, eventJson } from "../src/index.ts";
import { createOutbox, outboxTable } from "../src/outbox/index.ts";
import { anEvent } from "./given.ts";

// The page on emitting shows how each library fills the outbox inside of its own transaction. Here each of them does.

// Hooks run in their order: this one runs before those of the harness, which fail on connections that are left open.
afterAll(async () => {
  await Promise.all([
    dataSource.destroy(),
    byKnex.destroy(),
    byMikro.close(),
    bySequelize.close(),
    byPostgres.end(),
    bySlonik.end(),
    byPromise.$pool.end(),
  ]);
  await pool.end();
});

const at = useDatabase();
const outbox = createOutbox();

let pool: Pool;
let byDrizzle: NodePgDatabase;
let byKnex: Knex;
let byKysely: Kysely<object>;
let byMikro: MikroORM;
let byPostgres: Sql;
let byPromise: IDatabase<object>;
let bySequelize: Sequelize;
let bySlonik: DatabasePool;
let dataSource: DataSource;

beforeAll(async () => {
  pool = new Pool({ connectionString: at.url });
  await pool.query(outboxTable());
  byDrizzle = drizzle(pool);
  byKnex = knex({ client: "pg", connection: at.url, pool: { min: 0, max: 2 } });
  byKysely = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
  const Thing = new EntitySchema({ name: "Thing", properties: { id: { type: "number", primary: true } } });
  byMikro = await MikroORM.init({ clientUrl: at.url, entities: [Thing] });
  byPostgres = postgres(at.url);
  byPromise = pgPromise()(at.url);
  bySequelize = new Sequelize(at.url, { logging: false });
  bySlonik = await createPool(at.url);
  dataSource = await new DataSource({ type: "postgres", url: at.url }).initialize();
});

/** A library's transaction, with the line that the page shows in it. `end` throws if the transaction is to be rolled back. */
type Transaction = (event: EmittedEvent, end: () => void) => Promise<unknown>;

const libraries: Record<string, Transaction> = {
  pg: async (event, end) => {
    const client = await pool.connect();
    try {
      await client.query("begin");
      await outbox.add(client, event);
      end();
      await client.query("commit");
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  },
  Prisma: (event, end) =>
    at.database.prisma.$transaction(async (tx) => {
      await outbox.add(tx, event);
      end();
    }),
  TypeORM: (event, end) =>
    dataSource.transaction(async (manager) => {
      await outbox.add(manager, event);
      end();
    }),
  Knex: (event, end) =>
    byKnex.transaction(async (trx) => {
      await outbox.add(trx, event);
      end();
    }),
  Objection: (event, end) =>
    Model.transaction(byKnex, async (trx) => {
      await outbox.add(trx, event);
      end();
    }),
  "pg-promise": (event, end) =>
    byPromise.tx(async (t) => {
      await outbox.add(t, event);
      end();
    }),
  Drizzle: (event, end) => {
    const sql = drizzleSql;
    return byDrizzle.transaction(async (tx) => {
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
  MikroORM: (event, end) =>
    byMikro.em.transactional(async (em) => {
      await em.execute("insert into herald_outbox (event) values (?)", [eventJson(event)]);
      end();
    }),
  "postgres.js": (event, end) =>
    byPostgres.begin(async (tx) => {
      await tx`insert into herald_outbox (event) values (${eventJson(event)})`;
      end();
    }),
  Sequelize: (event, end) => {
    const sequelize = bySequelize;
    const insert = "insert into herald_outbox (event) values ($1)";
    return sequelize.transaction(async (transaction) => {
      await sequelize.query(insert, { bind: [eventJson(event)], transaction });
      end();
    });
  },
  Slonik: (event, end) => {
    const sql = slonikSql;
    return bySlonik.transaction(async (tx) => {
      await tx.query(sql.unsafe`insert into herald_outbox (event) values (${eventJson(event)})`);
      end();
    });
  },
};

const waiting = async () => (await pool.query("select event from herald_outbox")).rows;

test.each(Object.entries(libraries))(
  "%s fills the outbox if its transaction commits, and only then",
  async (_name, run) => {
    await pool.query("truncate herald_outbox");
    const data = { changes: { Title: { oldValue: null, newValue: `It's "new" \\ 100 % 🎉 ?x :name $1` } } };
    const [committed, rolledBack] = [anEvent({ data }), anEvent()];
    await run(committed, () => undefined);
    const end = () => {
      throw new Error("roll back");
    };
    await expect(run(rolledBack, end)).rejects.toThrow("roll back");
    expect(await waiting()).toEqual([{ event: eventJson(committed) }]);
  },
);

describe("what writes outside of a transaction, or needs another call", () => {
  const event = anEvent();
  // Each line is an error of the compiler too: one that compiles again is an error of this file.
  test.each<[string, string, () => Promise<void>]>([
    // @ts-expect-error: not within a transaction
    ["pg's pool", "client that has begun the transaction", () => outbox.add(pool, event)],
    [
      "pg's client before its begin",
      "whose transaction has begun",
      () => withClient((client) => outbox.add(client, event)),
    ],
    // @ts-expect-error: not within a transaction
    ["Prisma itself", "tx of prisma.$transaction", () => outbox.add(at.database.prisma, event)],
    // @ts-expect-error: not within a transaction
    ["a DataSource of TypeORM", "manager of dataSource.transaction", () => outbox.add(dataSource, event)],
    ["the manager of a DataSource", "whose transaction has begun", () => outbox.add(dataSource.manager, event)],
    ["a QueryRunner without a transaction", "whose transaction has begun", () => outbox.add(idleRunner(), event)],
    // @ts-expect-error: not within a transaction
    ["Knex itself", "trx of knex.transaction", () => outbox.add(byKnex, event)],
    // @ts-expect-error: not within a transaction
    ["pg-promise itself", "t of db.tx", () => outbox.add(byPromise, event)],
    ["a task of pg-promise", "t of db.tx", () => byPromise.task((t) => outbox.add(t, event))],
    // @ts-expect-error: another call
    ["Drizzle", "await tx.execute(sql`insert", () => outbox.add(byDrizzle, event)],
    // @ts-expect-error: another call
    ["Kysely", ".execute(trx)", () => outbox.add(byKysely, event)],
    // @ts-expect-error: another call
    ["MikroORM's manager", "await em.execute(", () => outbox.add(byMikro.em, event)],
    // @ts-expect-error: another call
    ["postgres.js", "await tx`insert", () => outbox.add(byPostgres, event)],
    // @ts-expect-error: another call
    ["Sequelize", "bind: [eventJson(event)], transaction", () => outbox.add(bySequelize, event)],
    // @ts-expect-error: another call
    ["Slonik's pool", "await tx.query(sql.unsafe", () => outbox.add(bySlonik, event)],
    // @ts-expect-error: none of them
    ["something else", "insert eventJson(event) into", () => outbox.add({ run: () => undefined }, event)],
  ])("%s is refused with what to write, and writes nothing", async (_what, sentence, add) => {
    await pool.query("truncate herald_outbox");
    await expect(add()).rejects.toThrow(new RegExp(sentence.replaceAll(/[$.()[\]{}]/g, "\\$&")));
    expect(await waiting()).toEqual([]);
  });

  const idleRunner = () => dataSource.createQueryRunner();
});

async function withClient(work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  await work(client).finally(() => client.release());
}

test("a transaction whose begin is on its way is taken, and so is one of an extended client of Prisma", async () => {
  await pool.query("truncate herald_outbox");
  await withClient(async (client) => {
    const begun = client.query("begin");
    await outbox.add(client, anEvent());
    await begun;
    await client.query("commit");
  });
  const extended = at.database.prisma.$extends({ client: { $hello: () => "hello" } });
  await extended.$transaction(async (tx) => await outbox.add(tx, anEvent()));
  expect(await waiting()).toHaveLength(2);
  // @ts-expect-error: not within a transaction
  await expect(outbox.add(extended, anEvent())).rejects.toThrow("tx of prisma.$transaction");
});

test("the page on emitting shows these lines", () => {
  const page = readFileSync(new URL("../../../docs/emitting-events.md", import.meta.url), "utf8");
  const source = readFileSync(new URL(import.meta.url), "utf8");
  const shown = [...page.matchAll(/^\| ([\w.-]+) \| `{1,2} ?(await .*?) ?`{1,2} \|$/gm)].map(([, name, line]) => [
    name,
    line,
  ]);
  expect(shown.map(([name]) => name)).toEqual(Object.keys(libraries));
  for (const [, line = ""] of shown) expect(source).toContain(line);
});
