import { Prisma } from "@herald/common/database/generated/client";
import type { Queries, Reads } from "@herald/common/database/queries";
import { type PagedTable, TABLES } from "./tables.ts";

export interface CopyOptions {
  from: Reads;
  to: Queries;
  /** Rows of a page. An event and a delivery may have a body each. */
  pageSize: number;
  /** Called after each page, with the table and the rows that it had. */
  onPage: (table: PagedTable, rows: number) => void;
}

interface Page {
  count: number;
  /** The key of its last row; null for an empty page. */
  last: string | null;
  /** The rows as JSON, which keeps every text and every number as it is. */
  rows: string;
  /** Of a page of `delivery`, what belongs to it. */
  attempts: string | null;
  due: string | null;
}

/** Before the first key of each type. */
const FIRST = { uuid: "00000000-0000-0000-0000-000000000000", text: "" };

/**
 * Copies the rows of one organization, or of one endpoint. What the other database has already stays as it is there, so that a copy
 * may be made again. A page of deliveries brings their attempts and their rows of `due`, in one statement.
 */
export async function copyRows(
  table: PagedTable,
  owner: string,
  { from, to, pageSize, onPage }: CopyOptions,
): Promise<void> {
  for (let after: string = FIRST[TABLES[table].type]; ; ) {
    const page = await readPage(from, table, { owner, after, pageSize });
    if (page.count > 0) {
      await writePage(to, table, page);
      onPage(table, page.count);
    }
    if (page.last === null || page.count < pageSize) return;
    after = page.last;
  }
}

/** Locks nothing. Walks the index that begins with the owner; for deliveries also delivery_attempt_pkey and due_pkey. */
async function readPage(
  reads: Reads,
  table: PagedTable,
  { owner, after, pageSize }: { owner: string; after: string; pageSize: number },
): Promise<Page> {
  const { of, key: keyName, type } = TABLES[table];
  const key = Prisma.raw(keyName);
  const isOfOwner =
    of === "endpoint" ? Prisma.sql`endpoint_id = ${owner}::uuid` : Prisma.sql`organization_id = ${owner}`;
  const [page] = await reads.$queryRaw<Page[]>`
    with page as materialized (
      select * from ${Prisma.raw(table)}
      where ${isOfOwner} and ${key} > ${after}::${Prisma.raw(type)}
      order by ${key}
      limit ${pageSize}
    )
    select
      (select count(*) from page)::int as "count",
      (select ${key}::text from page order by page.${key} desc limit 1) as "last",
      (select coalesce(json_agg(page), '[]') from page)::text as "rows",
      ${table === "delivery" ? BELONGING_TO_DELIVERIES : NOTHING}`;
  if (!page) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  return page;
}

const NOTHING = Prisma.sql`null as "attempts", null as "due"`;

const BELONGING_TO_DELIVERIES = Prisma.sql`
  (
    select coalesce(json_agg(delivery_attempt), '[]') from delivery_attempt
    where delivery_id = any (array (select id from page))
      -- So that PostgreSQL passes over the partitions that the page does not reach.
      and delivery_id between (select id from page order by id limit 1) and (select id from page order by id desc limit 1)
  )::text as "attempts",
  (select coalesce(json_agg(due), '[]') from due where delivery_id = any (array (select id from page)))::text as "due"`;

/** Locks what it inserts. */
async function writePage(queries: Queries, table: PagedTable, { rows, attempts, due }: Page): Promise<void> {
  if (table !== "delivery") {
    await queries.$executeRaw`${insertion(table, rows)}`;
    return;
  }
  await queries.$executeRaw`
    with deliveries as (${insertion("delivery", rows)}), attempts as (${insertion("delivery_attempt", attempts)})
    ${insertion("due", due)}`;
}

function insertion(table: keyof typeof TABLES, rows: string | null): Prisma.Sql {
  const name = Prisma.raw(table);
  return Prisma.sql`
    insert into ${name} select * from json_populate_recordset(null::${name}, ${rows}::json) on conflict do nothing`;
}

/** How many rows of a table an owner has; of `delivery` also how many attempts and rows of `due` belong to them. Locks nothing. */
export async function countRows(reads: Reads, table: PagedTable, owner: string): Promise<number[]> {
  if (table === "delivery") {
    const [row] = await reads.$queryRaw<{ counts: number[] }[]>`
      select array[
        (select count(*) from delivery where endpoint_id = ${owner}::uuid),
        (
          select count(*) from delivery join delivery_attempt on delivery_attempt.delivery_id = delivery.id
          where delivery.endpoint_id = ${owner}::uuid
        ),
        (select count(*) from due where endpoint_id = ${owner}::uuid)
      ]::int[] as "counts"`;
    return row?.counts ?? [];
  }
  const isOfOwner =
    TABLES[table].of === "endpoint" ? Prisma.sql`endpoint_id = ${owner}::uuid` : Prisma.sql`organization_id = ${owner}`;
  const [row] = await reads.$queryRaw<{ counts: number[] }[]>`
    select array[count(*)]::int[] as "counts" from ${Prisma.raw(table)} where ${isOfOwner}`;
  return row?.counts ?? [];
}
