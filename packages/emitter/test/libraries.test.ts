import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import knex, { type Knex } from "knex";
import { Kysely, sql as kyselySql, PostgresDialect } from "kysely";
import { Pool } from "pg";
import { DataSource } from "typeorm";
import { type EmittedEvent, eventJson, newEvent } from "../src/index.ts";
import { createOutbox, outboxTable } from "../src/outbox/index.ts";

// The page on emitting shows how each library fills the outbox inside of its own transaction. Here each of them does.

// Hooks run in their order: this one runs before those of the harness, which fail on connections that are left open.
afterAll(async () => {
  await dataSource.destroy();
  await byKnex.destroy();
  await pool.end();
});

const at = useDatabase();
const outbox = createOutbox();

let pool: Pool;
let byKnex: Knex;
let dataSource: DataSource;

beforeAll(async () => {
  pool = new Pool({ connectionString: at.url });
  await pool.query(outboxTable());
  byKnex = knex({ client: "pg", connection: at.url, pool: { min: 0, max: 1 } });
  dataSource = await new DataSource({ type: "postgres", url: at.url }).initialize();
});

type Transaction = (event: EmittedEvent, end: () => void) => Promise<unknown>;

/** Each library's transaction, with the line that the page shows in it. `end` throws where the transaction is to be rolled back. */
const libraries: Record<string, Transaction> = {
  Prisma: (event, end) =>
    at.database.prisma.$transaction(async (tx) => {
      await tx.$executeRaw`insert into herald_outbox (event) values (${eventJson(event)})`;
      end();
    }),
  Drizzle: (event, end) => {
    const sql = drizzleSql;
    return drizzle(pool).transaction(async (tx) => {
      await tx.execute(sql`insert into herald_outbox (event) values (${eventJson(event)})`);
      end();
    });
  },
  Kysely: (event, end) => {
    const sql = kyselySql;
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
    return db.transaction().execute(async (trx) => {
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
  "%s fills the outbox if its transaction commits, and only then",
  async (_name, run) => {
    await pool.query("truncate herald_outbox");
    const anEvent = () =>
      newEvent({ organizationId: "org-1", type: "RiskCreated", entityType: "Risk", entityId: randomUUID() });
    const [committed, rolledBack] = [anEvent(), anEvent()];
    await run(committed, () => undefined);
    const end = () => {
      throw new Error("roll back");
    };
    await expect(run(rolledBack, end)).rejects.toThrow("roll back");
    const { rows } = await pool.query<{ event: string }>("select event from herald_outbox");
    expect(rows.map(({ event }) => JSON.parse(event))).toEqual([committed]);
  },
);

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
