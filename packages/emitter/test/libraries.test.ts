import { readFileSync } from "node:fs";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { sql as drizzleSql, type SQL } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import knex, { type Knex } from "knex";
import { Kysely, sql as kyselySql, PostgresDialect } from "kysely";
import { Pool } from "pg";
import { DataSource } from "typeorm";
import { type EmittedEvent, eventJson } from "../src/index.ts";
import { createOutbox, type Outbox, type OutboxTransaction, outboxTable } from "../src/outbox/index.ts";
import { anEvent } from "./given.ts";

// The page on emitting shows how each library fills the outbox inside of its own transaction. Here each of them does.

interface Handles {
  outbox: Outbox;
  byDrizzle: { transaction(run: (tx: { execute(query: SQL): PromiseLike<unknown> }) => Promise<void>): Promise<void> };
  byKnex: Knex;
  byKysely: Kysely<object>;
  dataSource: DataSource;
}

// Hooks run in their order: this one runs before those of the harness, which fail on connections that are left open.
afterAll(async () => {
  await handles.dataSource.destroy();
  await handles.byKnex.destroy();
  await pool.end();
});

const at = useDatabase();

let pool: Pool;
let handles: Handles;

beforeAll(async () => {
  pool = new Pool({ connectionString: at.url });
  await pool.query(outboxTable());
  handles = {
    outbox: createOutbox(),
    byDrizzle: drizzle(pool),
    byKnex: knex({ client: "pg", connection: at.url, pool: { min: 0, max: 1 } }),
    byKysely: new Kysely<object>({ dialect: new PostgresDialect({ pool }) }),
    dataSource: await new DataSource({ type: "postgres", url: at.url }).initialize(),
  };
});

/** A library's transaction, with the line that the page shows in it. `end` throws if the transaction is to be rolled back. */
type Transaction = (handles: Handles, event: EmittedEvent, end: () => void) => Promise<unknown>;

const libraries: Record<string, Transaction> = {
  Prisma: ({ outbox }, event, end) =>
    at.database.prisma.$transaction(async (tx) => {
      await outbox.add(tx, event);
      end();
    }),
  Drizzle: ({ byDrizzle }, event, end) => {
    const sql = drizzleSql;
    return byDrizzle.transaction(async (tx) => {
      await tx.execute(sql`insert into herald_outbox (event) values (${eventJson(event)})`);
      end();
    });
  },
  Kysely: ({ byKysely }, event, end) => {
    const sql = kyselySql;
    return byKysely.transaction().execute(async (trx) => {
      await sql`insert into herald_outbox (event) values (${eventJson(event)})`.execute(trx);
      end();
    });
  },
  Knex: ({ byKnex, outbox }, event, end) =>
    byKnex.transaction(async (trx) => {
      await outbox.add(trx, event);
      end();
    }),
  TypeORM: ({ dataSource, outbox }, event, end) =>
    dataSource.transaction(async (manager) => {
      await outbox.add(manager, event);
      end();
    }),
};

test.each(Object.entries(libraries))(
  "%s fills the outbox if its transaction commits, and only then",
  async (_name, run) => {
    await pool.query("truncate herald_outbox");
    const data = { changes: { Title: { oldValue: null, newValue: `It's "new" \\ 100 % 🎉?` } } };
    const [committed, rolledBack] = [anEvent({ data }), anEvent()];
    await run(handles, committed, () => undefined);
    const end = () => {
      throw new Error("roll back");
    };
    await expect(run(handles, rolledBack, end)).rejects.toThrow("roll back");
    expect((await pool.query("select event from herald_outbox")).rows).toEqual([{ event: eventJson(committed) }]);
  },
);

test("the compiler refuses a transaction that the outbox can't write with, and names the call that does", async () => {
  // The sentences are types: a call that compiles again, or with another sentence, is an error of this file.
  const kysely = {} as OutboxTransaction<Kysely<object>>;
  expect<`For Kysely write: await sql\`insert into${string}.execute(trx)`>(kysely).toBeDefined();
  const drizzled = {} as OutboxTransaction<ReturnType<typeof drizzle>>;
  expect<`For Drizzle write: await tx.execute(sql\`insert into${string}`>(drizzled).toBeDefined();
  // @ts-expect-error: what is none of them
  await expect(handles.outbox.add({ run: () => undefined }, anEvent())).rejects.toThrow("can't write");
});

test("the page on emitting shows these lines", () => {
  const page = readFileSync(new URL("../../../docs/emitting-events.md", import.meta.url), "utf8");
  const source = readFileSync(new URL(import.meta.url), "utf8");
  const shown = [...page.matchAll(/^\| (\w+) \| `{1,2} ?(await .*?) ?`{1,2} \|$/gm)].map(([, name, line]) => [
    name,
    line,
  ]);
  expect(shown.map(([name]) => name)).toEqual(Object.keys(libraries));
  for (const [, line = ""] of shown) expect(source).toContain(line);
});
