import { firstIdAt } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";

// What lies in the `*_rest` partitions is little: deliveries that were unfinished when their day was dropped, with their
// attempts and events, and rows of days that never had partitions.

/** Erases one page: what comes `after` the page before it, and ended before a time. */
export type ErasePage<Cursor> = (
  queries: Queries,
  page: { after: Cursor | null; endedBefore: Date; pageSize: number },
) => Promise<ErasedPage<Cursor>>;

export interface ErasedPage<Cursor> {
  erasedCount: number;
  /** The last row that the page held, erased or not; null for an empty page. */
  last: Cursor | null;
}

/** The primary key of an event, after which the next page begins. */
export interface EventCursor {
  organizationId: string;
  key: string;
}

/**
 * Reads one page of deliveries by id and erases those that ended before `endedBefore`, with their attempts. Unfinished ones,
 * which have a row in `due`, stay however old they are.
 *
 * Locks what it erases. Walks delivery_rest_pkey from `after` on, and due_pkey and delivery_attempt_rest_pkey for each of the page.
 */
export const eraseRestOfDeliveries: ErasePage<string> = async (queries, { after, endedBefore, pageSize }) => {
  const [row] = await queries.$queryRaw<ErasedPage<string>[]>`
    with page as materialized (
      select id, coalesce(attempted_at, created_at) as ended_at from delivery_rest
      where id > ${after ?? ZERO_UUID}::uuid and id < ${firstIdAt(endedBefore)}::uuid
      order by id
      limit ${pageSize}
    ), ended as materialized (
      select id from page
      where ended_at < ${endedBefore}::timestamptz
        -- Arrays, since a plan for any page size would join whole tables.
        and not id = any (array (select delivery_id from due where delivery_id = any (array (select id from page))))
    ), attempts as (
      delete from delivery_attempt_rest where delivery_id = any (array (select id from ended))
    ), erased as (
      delete from delivery_rest where id = any (array (select id from ended)) returning id
    )
    select
      (select count(*) from erased)::int as "erasedCount",
      (select id from page order by id desc limit 1) as "last"`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  return row;
};

/**
 * Reads one page of events by organization and key, and erases those of a time before `endedBefore`, unless a delivery
 * refers to one: the body of a delivery is its event's. The deliveries of an event lie within its millisecond.
 *
 * Locks what it erases. Walks business_event_rest_pkey from `after` on, and a millisecond of delivery_rest_pkey for each old one.
 */
export const eraseRestOfEvents: ErasePage<EventCursor> = async (queries, { after, endedBefore, pageSize }) => {
  const [row] = await queries.$queryRaw<ErasedPage<EventCursor>[]>`
    with page as materialized (
      select organization_id, key from business_event_rest
      where (organization_id, key) > (${after?.organizationId ?? ""}, ${after?.key ?? ZERO_UUID}::uuid)
      order by organization_id, key
      limit ${pageSize}
    ), old as materialized (
      select organization_id, key from page
      where key < ${firstIdAt(endedBefore)}::uuid
        -- Not "not exists", for which PostgreSQL would read all deliveries.
        and (
          select id from delivery_rest
          where id >= overlay(page.key::text placing '0000-0000-000000000000' from 15)::uuid
            and id <= overlay(page.key::text placing 'ffff-ffff-ffffffffffff' from 15)::uuid
            and event_key = page.key
          limit 1
        ) is null
    ), erased as (
      delete from business_event_rest as event
      using old
      where event.organization_id = old.organization_id and event.key = old.key
      returning 1
    )
    select
      (select count(*) from erased)::int as "erasedCount",
      (
        select json_build_object('organizationId', organization_id, 'key', key)
        from page order by organization_id desc, key desc limit 1
      ) as "last"`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  return row;
};

const ZERO_UUID = "00000000-0000-0000-0000-000000000000";
