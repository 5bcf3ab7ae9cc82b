import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { diffSchemas } from "@herald/dev/harness/schema-engine";
import { useDatabase } from "@herald/dev/harness/use-database";
import { expect, test } from "@jest/globals";
import { migrationsFolder } from "../../src/database/migrations-folder.ts";

const migrated = useDatabase({ partitioned: false });
const fromSchema = useDatabase({ migrated: false });
const schema = readFileSync(join(dirname(migrationsFolder()), "schema.prisma"), "utf8");

/** Everything that a schema is made of, one line a thing, but for what Prisma's language can't say: the view and partial indexes. */
async function describeDatabase({ database: { prisma } }: typeof migrated): Promise<string[]> {
  const rows = await prisma.$queryRaw<{ line: string }[]>`
    SELECT format('column %s.%s %s %s(%s) null=%s default=%s', table_name, column_name, data_type, udt_name,
                  datetime_precision, is_nullable, column_default) AS line
    FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name <> 'attempt'
    UNION ALL
    SELECT format('constraint %s %s', conrelid::regclass, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL
    SELECT format('index %s', replace(indexdef, ' ON ONLY ', ' ON '))
    FROM pg_indexes WHERE schemaname = 'public' AND indexdef NOT LIKE '% WHERE %'
    UNION ALL
    SELECT format('enum %s %s', enumtypid::regtype, string_agg(enumlabel, ',' ORDER BY enumsortorder))
    FROM pg_enum GROUP BY enumtypid`;
  return rows
    .map(({ line }) => line)
    .filter((line) => !line.includes("_prisma_migrations"))
    .sort();
}

test("schema.prisma and the migrations mean the same tables", async () => {
  const script = await diffSchemas(fromSchema.url, undefined, schema);
  await fromSchema.database.prisma.$executeRawUnsafe(`DO $script$ BEGIN ${script} END $script$`);
  const meant = await describeDatabase(fromSchema);
  expect(meant.length).toBeGreaterThan(30);
  expect(await describeDatabase(migrated)).toEqual(meant);
});
