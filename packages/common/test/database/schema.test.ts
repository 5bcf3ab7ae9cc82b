import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { diffSchemas } from "@herald/testkit/harness/schema-engine";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { expect, test } from "@jest/globals";
import { migrationsFolder } from "../../src/database/migrations-folder.ts";

const migrated = useDatabase();
const fromSchema = useDatabase({ migrated: false });
const schema = readFileSync(join(dirname(migrationsFolder()), "schema.prisma"), "utf8");

/** Everything that a schema is made of, one line a thing. */
async function describeDatabase({ database: { prisma } }: typeof migrated): Promise<string[]> {
  const rows = await prisma.$queryRaw<{ line: string }[]>`
    SELECT format('column %s.%s %s %s(%s) null=%s default=%s', table_name, column_name, data_type, udt_name,
                  datetime_precision, is_nullable, column_default) AS line
    FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL
    SELECT format('constraint %s %s', conrelid::regclass, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL
    SELECT format('index %s', indexdef) FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL
    SELECT format('enum %s %s', enumtypid::regtype, string_agg(enumlabel, ',' ORDER BY enumsortorder))
    FROM pg_enum GROUP BY enumtypid`;
  return rows
    .map(({ line }) => line)
    .filter((line) => !line.includes("_prisma_migrations"))
    .sort();
}

const isPartialIndex = (line: string) => line.startsWith("index ") && line.includes(" WHERE ");

test("schema.prisma and the migrations mean the same tables", async () => {
  const script = await diffSchemas(fromSchema.url, undefined, schema);
  await fromSchema.database.prisma.$executeRawUnsafe(`DO $script$ BEGIN ${script} END $script$`);
  const meant = await describeDatabase(fromSchema);
  expect(meant.length).toBeGreaterThan(30);
  expect((await describeDatabase(migrated)).filter((line) => !isPartialIndex(line))).toEqual(meant);
});

test("the indexes that Prisma's schema language cannot say are noted in schema.prisma", async () => {
  const partial = (await describeDatabase(migrated)).filter(isPartialIndex);
  const names = partial.map((line) => /INDEX (\w+)/.exec(line)?.[1] ?? line);
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => !new RegExp(`// ${name} \\(`).test(schema))).toEqual([]);
});

test("a schema differs from itself in nothing, and from another in the SQL between them", async () => {
  expect(await diffSchemas(fromSchema.url, schema, schema)).toBe("");
  const longer = schema.replace("model WebhookEndpoint {", "model WebhookEndpoint {\n  note String?\n");
  expect(await diffSchemas(fromSchema.url, schema, longer)).toContain(
    'ALTER TABLE "webhook_endpoint" ADD COLUMN     "note" TEXT',
  );
});
