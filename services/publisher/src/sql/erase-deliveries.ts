import type { Queries } from "@herald/common/database/queries";

export interface ErasedPage {
  /** Rows that the page held, erased or not. */
  rowCount: number;
  erasedCount: number;
}

export interface ErasedDeliveries extends ErasedPage {
  /** The page's last delivery; null for an empty page. */
  lastId: string | null;
}

/**
 * Reads one page of deliveries by id and erases those that ended before `endedBefore`, with their attempts. Ids are UUIDv7,
 * so their order is that of their making: an index on the end of a delivery, which every settlement would have to write,
 * is not needed. Unfinished deliveries are skipped, however old.
 *
 * Locks the deliveries that it erases, skips those that others lock. Walks delivery_pkey from `after` on, and
 * delivery_attempt_pkey for each one erased.
 *
 * @param page `before` is an id that every delivery made since `endedBefore` comes behind
 */
export async function eraseDeliveries(
  queries: Queries,
  page: { after: string; before: string; endedBefore: Date; pageSize: number },
): Promise<ErasedDeliveries> {
  const { after, before, endedBefore, pageSize } = page;
  const [row] = await queries.$queryRaw<ErasedDeliveries[]>`
    with page as materialized (
      select id from delivery
      where id > ${after}::uuid and id < ${before}::uuid
      order by id
      limit ${pageSize}
    ), erased as (
      delete from delivery
      -- Arrays, since a plan for any page size would join whole tables.
      where id = any (array (
        select id from delivery
        where id = any (array (select id from page))
          and state in ('succeeded', 'exhausted')
          and coalesce(attempted_at, created_at) < ${endedBefore}::timestamptz
        order by id
        for update skip locked
      ))
      returning id
    )
    select
      (select count(*) from page)::int as "rowCount",
      (select count(*) from erased)::int as "erasedCount",
      (select id from page order by id desc limit 1) as "lastId"`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  return row;
}
