import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { diffSchemas } from "@herald/dev/harness/schema-engine";
import { useDatabase } from "@herald/dev/harness/use-database";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { deliveryId, eventKey } from "../../src/database/ids.ts";
import { migrationsFolder } from "../../src/database/migrations.ts";

const migrated = useDatabase({ partitioned: false });
const fromSchema = useDatabase({ migrated: false });
const schema = readFileSync(join(dirname(migrationsFolder()), "schema.prisma"), "utf8");

/** Everything that a schema is made of, one line a thing, but for what Prisma's language can't say: the view, checks and partial indexes. */
async function describeDatabase({ database: { prisma } }: typeof migrated): Promise<string[]> {
  const rows = await prisma.$queryRaw<{ line: string }[]>`
    SELECT format('column %s.%s %s %s(%s) null=%s default=%s', table_name, column_name, data_type, udt_name,
                  datetime_precision, is_nullable, column_default) AS line
    FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name <> 'attempt'
    UNION ALL
    SELECT format('constraint %s %s', conrelid::regclass, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'c'
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

const db = useDatabase();

// From the years 1 to 9999: what both sides can say in milliseconds within 48 bits is from 1970 on.
const occurredAt = fc.date({ min: new Date(0), max: new Date("9999-12-31T23:59:59.999Z"), noInvalidDate: true });
const organizationId = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 40 })
  .filter((text) => !text.includes("\0"));
const event = fc.record({ organizationId, id: fc.uuid(), endpointId: fc.uuid(), occurredAt });

test("PostgreSQL makes the same ids as TypeScript, and they sort by time", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 50 }), async (events) => {
      const rows = await db.database.queries.$queryRaw<{ key: string; delivery: string }[]>`
        select key, delivery_id(key, endpoint_id) as delivery
        from unnest(
          ${events.map((each) => each.organizationId)}::text[], ${events.map((each) => each.id)}::uuid[],
          ${events.map((each) => each.endpointId)}::uuid[], ${events.map((each) => each.occurredAt)}::timestamptz[]
        ) with ordinality as event (organization_id, id, endpoint_id, occurred_at, position)
        cross join lateral event_key(organization_id, id, occurred_at) as key
        order by position`;
      const made = events.map((each) => {
        const key = eventKey(each.organizationId, each.id, each.occurredAt);
        return { key, delivery: deliveryId(key, each.endpointId) };
      });
      expect(rows).toEqual(made);
      const byTime = [...events].sort((a, b) => a.occurredAt.getTime() - b.occurredAt.getTime());
      const times = byTime.map((each) => eventKey(each.organizationId, each.id, each.occurredAt).slice(0, 13));
      expect(times).toEqual([...times].sort());
    }),
    { numRuns: 100 },
  );
});

test("no upgrade of the operating system changes the order of an index: text in it is compared byte by byte", async () => {
  const others = await db.database.prisma.$queryRaw`
    select indexrelid::regclass::text as index, collname::text as collation
    from pg_index join pg_class on pg_class.oid = indrelid
    cross join unnest(indcollation) as used (oid) join pg_collation on pg_collation.oid = used.oid
    where relnamespace = 'public'::regnamespace and collname <> 'C' and relname <> '_prisma_migrations'`;
  expect(others).toEqual([]);
});

describe("the shard of a row of due", () => {
  const endpointId = "0190a1b2-0000-7000-8000-0000000000aa";
  const insert = (columns: string, values: string) =>
    db.database.prisma.$queryRawUnsafe<{ shard: number }[]>(
      `insert into due (endpoint_id, due_at, delivery_id${columns}) values ('${endpointId}', now(), gen_random_uuid()${values}) returning shard`,
    );

  test("the shard is filled in for a process of the previous version, which does not write it", async () => {
    expect(await insert("", "")).toEqual([{ shard: 0xaa }]);
    expect(await insert(", shard", ", 170")).toEqual([{ shard: 0xaa }]);
  });

  test("another endpoint's shard is refused: its owner would not look for the row", async () => {
    await expect(insert(", shard", ", 171")).rejects.toThrow("due_shard_of_endpoint");
    await expect(db.database.prisma.$executeRaw`update due set shard = 171`).rejects.toThrow("due_shard_of_endpoint");
  });
});
