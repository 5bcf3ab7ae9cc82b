import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { withSchemaEngine } from "@herald/dev/harness/schema-engine";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Pool } from "pg";
import { DataSource, EntitySchema } from "typeorm";
import { eventJson } from "../../src/index.ts";
import { outboxTable } from "../../src/outbox/index.ts";
import { anEvent } from "../given.ts";

// The migration tool of each library, set up as docs/emitting-events.md says, changes nothing of an outbox that holds an event.

// Hooks run in their order: this one runs before those of the harness, which fail on connections that are left open.
afterAll(() => pool.end());
const at = useDatabase({ migrated: false });
let pool: Pool;
const folder = mkdtempSync(join(tmpdir(), "herald-tools-"));
afterAll(() => rmSync(folder, { recursive: true }));

const require = createRequire(import.meta.url);
const page = readFileSync(new URL("../../../../docs/emitting-events.md", import.meta.url), "utf8");
/** The lines that the page shows for a library. */
const shownFor = (library: string) =>
  new RegExp(`- \\*\\*${library}\\*\\*: [^]*?\`\`\`ts\\n([^]*?)\`\`\``).exec(page)?.[1] ?? "";

const WORK_ITEM = "create table work_item (id integer primary key, title text not null)";

beforeAll(() => {
  pool = new Pool({ connectionString: at.url });
  symlinkSync(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(folder, "node_modules"));
});
beforeEach(async () => {
  await pool.query("drop schema public cascade; create schema public");
  await pool.query(`${WORK_ITEM}; ${outboxTable()}`);
  await pool.query("insert into herald_outbox (event) values ($1)", [eventJson(anEvent())]);
});

/** The tables of the database, and how many events wait in the outbox, if there is one. */
async function left() {
  const { rows } = await pool.query("select tablename from pg_tables where schemaname = 'public' order by 1");
  const tables = rows.map(({ tablename }) => tablename as string);
  if (!tables.includes("herald_outbox")) return { tables };
  const waiting = await pool.query("select count(*)::int as waiting from herald_outbox where sent_at is null");
  const indexes = await pool.query("select count(*)::int as indexes from pg_indexes where tablename = 'herald_outbox'");
  return { tables, ...waiting.rows[0], ...indexes.rows[0] };
}
const UNTOUCHED = { tables: ["herald_outbox", "work_item"], waiting: 1, indexes: 4 };

describe("Prisma's engine, as `prisma db push` and `migrate` run it,", () => {
  const workItem = (more = "") => `datasource db {
      provider = "postgresql"
    }
    model WorkItem {
      id Int @id
      title String
      ${more}
      @@map("work_item")
    }`;
  const push = (externalTables: string[], more?: string) =>
    withSchemaEngine(at.url, (engine) =>
      engine.schemaPush({
        force: true,
        schema: { files: [{ path: "schema.prisma", content: workItem(more) }] },
        filters: { externalTables, externalEnums: [] },
      }),
    );
  const external = (): string[] => [...shownFor("Prisma").matchAll(/"([\w.]+)"/g)].map(([, name = ""]) => name);

  test("Prisma's engine leaves the outbox with the page's lines", async () => {
    expect(external()).toEqual(["public.herald_outbox"]);
    expect(await push(external())).toMatchObject({ executedSteps: 0, warnings: [] });
    expect(await left()).toEqual(UNTOUCHED);
  });

  test("Prisma's engine sees other changes with the page's lines", async () => {
    expect((await push(external(), "done Boolean?")).executedSteps).toBeGreaterThan(0);
    expect(await left()).toEqual(UNTOUCHED);
  });

  test("Prisma's engine drops the outbox without the page's lines", async () => {
    await push([]);
    expect(await left()).toEqual({ tables: ["work_item"] });
  });
});

describe("drizzle-kit", () => {
  const run = async (model: string, ...command: string[]) => {
    const schema = `import { sql } from "drizzle-orm";
      import { bigint, index, integer, pgTable, text, timestamp } from "drizzle-orm/pg-core";
      export const workItem = pgTable("work_item", { id: integer().primaryKey(), title: text().notNull() });\n${model}`;
    writeFileSync(join(folder, "schema.ts"), schema);
    const config = { dialect: "postgresql", schema: "./schema.ts", out: "./out", dbCredentials: { url: at.url } };
    writeFileSync(join(folder, "drizzle.config.ts"), `export default ${JSON.stringify(config)};`);
    const bin = join(dirname(require.resolve("drizzle-kit")), "bin.cjs");
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [bin, ...command], { cwd: folder });
    return `${stdout}${stderr}`;
  };

  test("drizzle-kit push --force leaves the outbox with the page's model", async () => {
    expect(await run(shownFor("Drizzle"), "push", "--force")).toContain("No changes detected");
    expect(await left()).toEqual(UNTOUCHED);
  });

  test("drizzle-kit push --force drops the outbox without it", async () => {
    await run("", "push", "--force");
    expect(await left()).toEqual({ tables: ["work_item"] });
  });

  test("drizzle-kit generate writes a migration of the page's model that makes the same table as outboxTable()", async () => {
    const columns = async () => {
      const fields = "column_name, data_type, is_nullable, column_default, identity_generation";
      const named = await pool.query(
        `select ${fields} from information_schema.columns where table_name = 'herald_outbox' order by ordinal_position`,
      );
      const indexes = await pool.query("select indexdef from pg_indexes where tablename = 'herald_outbox' order by 1");
      // How an index is written down may differ; what it indexes may not.
      return [named.rows, indexes.rows.map(({ indexdef }) => indexdef.replaceAll(/ NULLS LAST/g, ""))];
    };
    const byHerald = await columns();
    await run(shownFor("Drizzle"), "generate", "--name", "outbox");
    await pool.query("drop table herald_outbox, work_item");
    await pool.query(readFileSync(join(folder, "out", "0000_outbox.sql"), "utf8"));
    expect(await columns()).toEqual(byHerald);
  });
});

test("TypeORM's schema:log and schema:sync leave the outbox, and see other changes", async () => {
  const columns = { id: { type: "integer", primary: true }, title: { type: "text" } } as const;
  const differences = async (more: object) => {
    const entity = new EntitySchema({ name: "work_item", columns: { ...columns, ...more } });
    const source = await new DataSource({ type: "postgres", url: at.url, entities: [entity] }).initialize();
    try {
      const { upQueries } = await source.driver.createSchemaBuilder().log();
      await source.synchronize();
      return upQueries.map(({ query }) => query);
    } finally {
      await source.destroy();
    }
  };
  await pool.query("alter table work_item rename constraint work_item_pkey to constraint_of_another_name");
  expect((await differences({})).filter((query) => query.includes("outbox"))).toEqual([]);
  expect(await left()).toEqual(UNTOUCHED);
  expect(await differences({})).toEqual([]);
  expect((await differences({ done: { type: "boolean", nullable: true } })).join()).toContain('ADD "done"');
  expect(await left()).toEqual(UNTOUCHED);
});
