import type { Queries } from "@herald/common/database/queries";

/** An enabled endpoint with deliveries that are due. */
export interface DueEndpoint {
  endpointId: string;
  organizationId: string;
  /** The time of its first due row that is alive. */
  dueAt: Date;
  /** Whether that row is of a delivery that was interrupted again: it bears the claim of a dispatcher that died, and not of the first one. */
  interrupted: boolean;
  /** The endpoint's failures in a row, and until when it is left alone. */
  failures: number;
  pausedUntil: Date | null;
}

export interface DuePage {
  due: DueEndpoint[];
  /** Where the next page begins; null when this was the last one. */
  next: string | null;
}

export interface DuePageQuery {
  now: Date;
  /** Rows that were due before this time are looked for only where `known` says so, or the endpoint was edited since. */
  since: Date;
  /** Endpoints that had due rows lately, with the time from which on those that are alive lie. */
  known: readonly { endpointId: string; since: Date }[];
  /** The endpoint with which the page before this one ended; null for the first page. */
  after: string | null;
  /** Enabled endpoints in a page. */
  limit: number;
}

/**
 * Goes through a page of the enabled endpoints, and probes each for a due row. The lower bound makes a look cost what is
 * alive: rows that are done leave dead entries at the left of the index, and while any old transaction is open they stay,
 * and a probe from the beginning would pass them all. A resume is an edit, and brings back rows that were due long before.
 *
 * Locks nothing. Walks webhook_endpoint_pkey, and due_endpoint_id_due_at_idx once an endpoint.
 */
export async function findDueEndpoints(
  queries: Queries,
  { now, since, known, after, limit }: DuePageQuery,
): Promise<DuePage> {
  const rows = await queries.$queryRaw<(Omit<DueEndpoint, "dueAt"> & { dueAt: Date | null })[]>`
    with page as materialized (
      select id, organization_id, consecutive_failures, paused_until, updated_at from webhook_endpoint
      where enabled and id > ${after ?? ZERO_UUID}::uuid
      order by id
      limit ${limit}
    ), found as (
      select page.id, page.organization_id, page.consecutive_failures, page.paused_until, first.due_at, coalesce(first.claim_id <> first.delivery_id and first.interruptions > 0, false) as interrupted
      from page
      left join unnest(
        ${known.map(({ endpointId }) => endpointId)}::uuid[],
        ${known.map(({ since }) => since)}::timestamptz[]
      ) as known (endpoint_id, since) on known.endpoint_id = page.id
      cross join lateral (
        select due_at, claim_id, delivery_id, interruptions from due
        where due.endpoint_id = page.id
          and due_at <= ${now}::timestamptz
          and due_at >= case
            when page.updated_at >= ${since}::timestamptz then '-infinity'
            else coalesce(known.since, ${since}::timestamptz)
          end
        order by due_at
        limit 1
      ) as first
    )
    select id as "endpointId", organization_id as "organizationId", due_at as "dueAt", interrupted,
      consecutive_failures as "failures", paused_until as "pausedUntil"
    from found
    union all
    -- Where the page is full, its last endpoint.
    (select id, null, null, null, null, null from page order by id offset ${limit - 1} limit 1)`;
  const due: DueEndpoint[] = [];
  let next: string | null = null;
  for (const { dueAt, ...endpoint } of rows) {
    if (dueAt === null) next = endpoint.endpointId;
    else due.push({ ...endpoint, dueAt });
  }
  return { due, next };
}

const ZERO_UUID = "00000000-0000-0000-0000-000000000000";
