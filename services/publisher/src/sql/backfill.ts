import type { Queries } from "@herald/common/database/queries";
import type { CatchUp } from "./take-catch-up.ts";

export interface BackfilledPage {
  /** False where another process has taken the catch-up over, or somebody asked for it anew. */
  held: boolean;
  /** The page was not full, so the pass is over. */
  ended: boolean;
  /** Deliveries that were missing and are there now, due at once. */
  deliveryCount: number;
  /** The key of the page's last event; null for an empty page. */
  cursor: string | null;
}

export interface BackfillTimes {
  now: Date;
  /** The lease, if the pass goes on. */
  renewedUntil: Date;
  /** When the daily guard comes, if the pass ends here and is not asked for again. */
  guardAt: Date;
  /** Of events up to this time nothing is missing, if the pass ends here. */
  completeTo: Date;
}

/**
 * Reads one page of the events of an endpoint's organization that come after a key, and makes the deliveries that the endpoint
 * lacks. Nothing for an endpoint that is disabled or gone. Stores the cursor and renews the lease, or ends the pass where the page
 * is not full: in the same statement, since after a slow one somebody else may have the catch-up already.
 *
 * The page is counted before the filter, so that a call costs the same whatever an organization emits.
 * Locks: what it inserts, and the catch-up's row at its end. Walks business_event_pkey in the partitions after the key.
 */
export async function backfill(
  queries: Queries,
  { endpointId, leasedUntil }: CatchUp,
  page: { organizationId: string; after: string; pageSize: number },
  times: BackfillTimes,
): Promise<BackfilledPage> {
  const { organizationId, after, pageSize } = page;
  const { now, renewedUntil, guardAt, completeTo } = times;
  const [row] = await queries.$queryRaw<BackfilledPage[]>`
    with endpoint as materialized (
      select id, organization_id, events from webhook_endpoint where id = ${endpointId}::uuid and enabled
    ), page as materialized (
      select key, type from business_event
      where organization_id = ${organizationId} and key > ${after}::uuid and exists (select from endpoint)
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
      insert into due (delivery_id, endpoint_id, due_at)
      select id, ${endpointId}::uuid, ${now}::timestamptz from backfilled
    ), progress as (
      select
        (select count(*) from page) < ${pageSize} as ended,
        (select key from page order by key desc limit 1) as key
    ), held as (
      update catch_up
      set cursor = case when not ended then progress.key end,
        due_at = case
          when not ended then ${renewedUntil}::timestamptz
          when again_at > ${now}::timestamptz then again_at
          else ${guardAt}::timestamptz
        end,
        priority = case when not ended or again_at > ${now}::timestamptz then priority else 1 end,
        again_at = case when again_at > ${now}::timestamptz then again_at end,
        complete_to = case when ended then ${completeTo}::timestamptz else complete_to end
      from progress
      where endpoint_id = ${endpointId}::uuid and due_at = ${leasedUntil}::timestamptz
      returning 1
    )
    select
      exists (select from held) as "held",
      ended,
      key as "cursor",
      (select count(*) from backfilled)::int as "deliveryCount"
    from progress`;
  if (!row) throw new Error("PostgreSQL answered a select of aggregates with no row.");
  return row;
}
