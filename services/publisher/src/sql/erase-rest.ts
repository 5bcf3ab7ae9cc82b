import type { Queries } from "@herald/common/database/queries";

// What lies in the `*_rest` partitions is little: deliveries that were unfinished when their day was dropped, with their
// attempts and events, and rows of days that never had partitions.

export interface ErasedDeliveries {
  /** Deliveries that the page held, erased or not. */
  rowCount: number;
  erasedCount: number;
  /** The page's last delivery; null for an empty page. */
  lastId: string | null;
}

/**
 * Reads one page of deliveries by id and erases those that ended before `endedBefore`, with their attempts. Unfinished ones,
 * which have a row in `due`, stay however old they are.
 *
 * Locks what it erases. Walks delivery_rest_pkey from `after` on, and due_pkey and delivery_attempt_rest_pkey for each of the page.
 *
 * @param page `before` is an id that no delivery of a time since `endedBefore` is smaller than
 */
export async function eraseRestOfDeliveries(
  queries: Queries,
  page: { after: string; before: string; endedBefore: Date; pageSize: number },
): Promise<ErasedDeliveries> {
  const { after, before, endedBefore, pageSize } = page;
  const [row] = await queries.$queryRaw<ErasedDeliveries[]>`
    with page as materialized (
      select id, coalesce(attempted_at, created_at) as ended_at from delivery_rest
      where id > ${after}::uuid and id < ${before}::uuid
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
      (select count(*) from page)::int as "rowCount",
      (select count(*) from erased)::int as "erasedCount",
      (select id from page order by id desc limit 1) as "lastId"`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  return row;
}

/** A position in the events: those after it in (organization_id, key) are still to be read. */
export interface EventCursor {
  organizationId: string;
  key: string;
}

export interface ErasedEvents {
  rowCount: number;
  erasedCount: number;
  /** The page's last event; null for an empty page. */
  cursor: EventCursor | null;
}

/**
 * Reads one page of events by organization and key, and erases those whose key is smaller than `before`, unless a delivery
 * refers to one: the body of a delivery is its event's. The deliveries of an event lie within its millisecond.
 *
 * Locks what it erases. Walks business_event_rest_pkey from `after` on, and a millisecond of delivery_rest_pkey for each old one.
 */
export async function eraseRestOfEvents(
  queries: Queries,
  page: { after: EventCursor | null; before: string; pageSize: number },
): Promise<ErasedEvents> {
  const { after, before, pageSize } = page;
  const [row] = await queries.$queryRaw<
    (Omit<ErasedEvents, "cursor"> & { lastOrganizationId: string; lastKey: string })[]
  >`
    with page as materialized (
      select organization_id, key from business_event_rest
      where (organization_id, key) > (${after?.organizationId ?? ""}, ${after?.key ?? ZERO_UUID}::uuid)
      order by organization_id, key
      limit ${pageSize}
    ), old as materialized (
      select organization_id, key from page
      where key < ${before}::uuid
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
    ), last_event as (
      select organization_id, key from page order by organization_id desc, key desc limit 1
    )
    select
      (select count(*) from page)::int as "rowCount",
      (select count(*) from erased)::int as "erasedCount",
      (select organization_id from last_event) as "lastOrganizationId",
      (select key from last_event) as "lastKey"`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  const { rowCount, erasedCount, lastOrganizationId, lastKey } = row;
  return { rowCount, erasedCount, cursor: rowCount > 0 ? { organizationId: lastOrganizationId, key: lastKey } : null };
}

const ZERO_UUID = "00000000-0000-0000-0000-000000000000";
