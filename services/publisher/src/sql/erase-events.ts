import type { Queries } from "@herald/common/database/queries";
import type { EventCursor } from "./backfill.ts";
import type { ErasedPage } from "./erase-deliveries.ts";

export interface ErasedEvents extends ErasedPage {
  /** The page's last event; null for an empty page. */
  cursor: EventCursor | null;
}

interface Row extends ErasedPage {
  occurredAt: Date | null;
  id: string | null;
}

/**
 * Reads one page of an organization's events that occurred before a time, earliest first, and erases those that no
 * delivery refers to (any more): the body of a delivery is its event's.
 *
 * Locks the events that it erases, skips those that others lock. Walks business_event_organization_id_occurred_at_id_idx
 * from the cursor on, and delivery_endpoint_id_business_event_id_key for each event and endpoint of the organization.
 */
export async function eraseEvents(
  queries: Queries,
  page: { organizationId: string; after: EventCursor | null; occurredBefore: Date; pageSize: number },
): Promise<ErasedEvents> {
  const { organizationId, after, occurredBefore, pageSize } = page;
  const [row] = await queries.$queryRaw<Row[]>`
    with page as materialized (
      select occurred_at, id from business_event
      where organization_id = ${organizationId}
        and occurred_at < ${occurredBefore}::timestamptz
        and (occurred_at, id) > (${after?.occurredAt ?? BEGINNING}::timestamptz, ${after?.id ?? ZERO_UUID}::uuid)
      order by occurred_at, id
      limit ${pageSize}
    ), erased as (
      delete from business_event
      where organization_id = ${organizationId}
        -- Arrays, since a plan for any page size would join whole tables.
        and id = any (array (
          select event.id from business_event as event
          where event.organization_id = ${organizationId}
            and event.id = any (array (select id from page))
            and not exists (
              select from webhook_endpoint as endpoint
              join delivery on delivery.endpoint_id = endpoint.id and delivery.business_event_id = event.id
              where endpoint.organization_id = ${organizationId}
            )
          order by event.id
          for update of event skip locked
        ))
      returning id
    ), last_event as (
      select occurred_at, id from page order by occurred_at desc, id desc limit 1
    )
    select
      (select count(*) from page)::int as "rowCount",
      (select count(*) from erased)::int as "erasedCount",
      (select occurred_at from last_event) as "occurredAt",
      (select id from last_event) as "id"`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  const { rowCount, erasedCount, occurredAt, id } = row;
  return { rowCount, erasedCount, cursor: occurredAt && id ? { occurredAt, id } : null };
}

const BEGINNING = new Date("0001-01-01T00:00:00Z");
const ZERO_UUID = "00000000-0000-0000-0000-000000000000";
