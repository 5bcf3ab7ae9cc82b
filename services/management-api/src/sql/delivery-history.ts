import { Prisma, type PrismaClient } from "@herald/common/database";
import type { Outcome } from "@herald/contracts";
import type { DeliveryRow } from "../deliveries/summary.ts";

export interface HistoryRow extends DeliveryRow {
  inFlight: boolean;
  createdAt: Date;
  nextAttemptAt: Date | null;
  durationMs: number | null;
}

export interface HistoryQuery {
  organizationId: string;
  endpointId: string;
  /** Only older ones than this delivery. */
  olderThan: string | null;
  /** Only these; empty for any. */
  outcomes: readonly Outcome[];
  eventTypes: readonly string[];
  from: Date | null;
  to: Date | null;
  limit: number;
  /** Deliveries that are looked at, whether they pass the filters or not. */
  maxScanned: number;
}

export interface History {
  rows: HistoryRow[];
  /** Where to go on; null where the history ends. */
  lastSeen: string | null;
}

/**
 * A part of an endpoint's history, newest first: up to `limit` deliveries that pass the filters, among the next
 * `maxScanned`. A rare outcome in a long history takes several calls, none of which is slow.
 *
 * Locks nothing. Walks delivery_endpoint_id_id_idx backwards from the cursor, and delivery_attempt_pkey once a row. The
 * organization is asked of the endpoint: a condition on the deliveries' own would let PostgreSQL choose the other index, and
 * read past all other endpoints' deliveries.
 */
export async function deliveryHistory(prisma: PrismaClient, query: HistoryQuery): Promise<History> {
  const { organizationId, endpointId, olderThan, outcomes, eventTypes, from, to, limit, maxScanned } = query;
  const [result] = await prisma.$queryRaw<{ rows: HistoryRow[]; scanned: number; lastScanned: string | null }[]>`
    with scanned as materialized (
      select id, business_event_id, event_type, state, attempt_count, in_flight, status_code, error_summary,
             attempted_at, created_at, next_attempt_at
      from delivery
      where endpoint_id = (
          select id from webhook_endpoint where id = ${endpointId}::uuid and organization_id = ${organizationId}
        )
        ${olderThan === null ? Prisma.empty : Prisma.sql`and id < ${olderThan}::uuid`}
      order by id desc
      limit ${maxScanned}
    ), page as (
      select *
      from scanned
      where true
        ${outcomes.length === 0 ? Prisma.empty : Prisma.sql`and ${outcome} = any (${outcomes}::text[])`}
        ${eventTypes.length === 0 ? Prisma.empty : Prisma.sql`and event_type = any (${eventTypes}::text[])`}
        ${from === null ? Prisma.empty : Prisma.sql`and created_at >= ${from}::timestamptz`}
        ${to === null ? Prisma.empty : Prisma.sql`and created_at < ${to}::timestamptz`}
      order by id desc
      limit ${limit}
    )
    select (select count(*) from scanned)::int as scanned,
           (select id from scanned order by id limit 1) as "lastScanned",
           coalesce(json_agg(json_build_object(
             'id', page.id,
             'businessEventId', business_event_id,
             'eventType', event_type,
             'state', state,
             'attemptCount', attempt_count,
             'inFlight', in_flight,
             'statusCode', page.status_code,
             'errorSummary', page.error_summary,
             'attemptedAt', attempted_at,
             'createdAt', created_at,
             'nextAttemptAt', next_attempt_at,
             'durationMs', latest.duration_ms
           ) order by page.id desc) filter (where page.id is not null), '[]') as rows
    from (select) as one
    left join page on true
    left join lateral (
      select duration_ms from delivery_attempt where delivery_id = page.id order by number desc limit 1
    ) as latest on true`;
  const { rows, scanned, lastScanned } = result ?? { rows: [], scanned: 0, lastScanned: null };
  if (rows.length === limit) return { rows, lastSeen: rows.at(-1)?.id ?? null };
  return { rows, lastSeen: scanned === maxScanned ? lastScanned : null };
}

/** As the contract defines it. */
const outcome = Prisma.sql`
  case when state in ('succeeded', 'exhausted') then state::text when status_code is null then 'waiting' else 'failing' end`;
