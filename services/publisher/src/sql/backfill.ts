import { onDaysOf } from "@herald/common/database/days";
import { Prisma } from "@herald/common/database/generated/client";
import { lastIdAt } from "@herald/common/database/ids";
import { isOver, oneRow, type Queries } from "@herald/common/database/queries";
import type { Lease, PageBounds, Work, WorkPage } from "./work.ts";

const DAY_MS = 24 * 60 * 60_000;

export interface CatchUp extends Work {
  /** 0: the catch-up was requested. 1: it is the daily guard. */
  priority: number;
  /** The key of the last event that was read; null at the beginning of a pass. */
  cursor: string | null;
  /** After the last pass, no delivery was missing of any event up to this time; null before the first pass. */
  completeTo: Date | null;
  /** The creation of the endpoint; null, like its organization, if the endpoint has been deleted. */
  createdAt: Date | null;
  organizationId: string | null;
}

/**
 * Takes the next catch-up, and moves its time past a lease. Requested catch-ups come first, and then the daily guards; among each kind, the one that
 * has been due longest. Null if none is due.
 *
 * It reads only what never changes about the endpoint: this statement may see the endpoint as it was before the resume that its catch-up waited for.
 *
 * Locks the row that it takes, skips those that others lock. Walks catch_up_priority_due_at_idx and webhook_endpoint_pkey.
 */
export async function takeCatchUp(queries: Queries, { now, leasedUntil }: Lease): Promise<CatchUp | null> {
  const [taken] = await queries.$queryRaw<CatchUp[]>`
    update catch_up
    set due_at = ${leasedUntil}::timestamptz
    where endpoint_id = coalesce(
      (
        select endpoint_id from catch_up where priority = 0 and due_at < 'infinity' and ${isOver(Prisma.sql`due_at`, now)}
        order by due_at limit 1 for update skip locked
      ),
      (
        select endpoint_id from catch_up where priority = 1 and due_at <= ${now}::timestamptz
        order by due_at limit 1 for update skip locked
      )
    )
    returning endpoint_id as "endpointId", due_at as "leasedUntil", priority::int as "priority", cursor,
      complete_to as "completeTo",
      (select created_at from webhook_endpoint where id = endpoint_id) as "createdAt",
      (select organization_id from webhook_endpoint where id = endpoint_id) as "organizationId"`;
  return taken ?? null;
}

/** With the key of the page's last event, null for an empty page, and the owner of the endpoint's shard, if there is one. */
type BackfilledPage = WorkPage & { cursor: string | null; owner: string | null };

/**
 * Reads one page of the events of an endpoint's organization that come after a key, and creates the deliveries that the endpoint lacks. The same
 * statement stores the cursor and renews the lease, or ends the pass if the page is not full. It changes the catch-up only if this process still has
 * the lease: after a slow statement, another process may have it. After the pass, the catch-up is due again: first at the time that the edit asked
 * for (`again_at`), then once a day as the guard, in case an event was missed for an unforeseen reason.
 *
 * An endpoint that is disabled gets nothing, and its catch-up rests until the resume sets a time again. The catch-up of a deleted endpoint is
 * removed.
 *
 * The page is counted before the filter, so that a call costs the same whatever an organization emits. Locks: what it inserts, and the catch-up's row
 * at its end. Walks business_event_pkey in the partitions after the key, and shard_pkey.
 */
export async function backfill(
  queries: Queries,
  { endpointId, leasedUntil, after }: Work & { after: string },
  { pageSize, now, renewedUntil }: PageBounds,
): Promise<BackfilledPage> {
  const waits = Prisma.sql`not ${isOver(Prisma.sql`again_at`, now)}`;
  const rows = await queries.$queryRaw<BackfilledPage[]>`
    with endpoint as materialized (
      select id, organization_id, events, enabled from webhook_endpoint where id = ${endpointId}::uuid
    ), page as materialized (
      select key, type from business_event
      where organization_id = (select organization_id from endpoint where enabled) and key > ${after}::uuid
        -- No event is further in the future.
        and ${onDaysOf("key", [after, lastIdAt(new Date(now.getTime() + DAY_MS))])}
      order by key
      limit ${pageSize}
    ), backfilled as (
      insert into delivery (id, endpoint_id, organization_id, event_key, event_type, created_at)
      select delivery_id(page.key, endpoint.id), endpoint.id, endpoint.organization_id, page.key, page.type,
        ${now}::timestamptz
      from page
      join endpoint on page.type = any (endpoint.events)
      order by page.key
      on conflict (id) do nothing
      returning id
    ), waiting as (
      insert into due (shard, endpoint_id, due_at, delivery_id)
      select shard_of(${endpointId}::uuid), ${endpointId}::uuid, ${now}::timestamptz, id from backfilled
      on conflict do nothing
    ), progress as (
      select
        (select count(*) from page) < ${pageSize} as ended,
        (select key from page order by key desc limit 1) as key
    ), held as (
      update catch_up
      set cursor = case when not ended then progress.key end,
        due_at = case
          when not enabled then 'infinity'
          when not ended then ${renewedUntil}::timestamptz
          when ${waits} then again_at
          else ${now}::timestamptz + interval '24 hours'
        end,
        priority = case when not ended or not enabled or ${waits} then priority else 1 end,
        again_at = case when not enabled or ${waits} then again_at end,
        complete_to = case when ended and enabled then ${now}::timestamptz else complete_to end
      from progress, endpoint
      where endpoint_id = ${endpointId}::uuid and due_at = ${leasedUntil}::timestamptz
      returning 1
    ), removed as (
      delete from catch_up
      where endpoint_id = ${endpointId}::uuid and due_at = ${leasedUntil}::timestamptz and not exists (select from endpoint)
    )
    select
      exists (select from held) as "held",
      ended,
      key as "cursor",
      (select owner from shard where shard.id = shard_of(${endpointId}::uuid)) as "owner",
      (select count(*) from backfilled)::int as "deliveryCount"
    from progress`;
  return oneRow(rows);
}
