import { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
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
  /** Only deliveries older than this one; null for all. */
  olderThan: string | null;
  /** Only deliveries with these outcomes, and of these event types; an empty list lets all pass. */
  outcomes: readonly Outcome[];
  eventTypes: readonly string[];
  from: Date | null;
  to: Date | null;
  limit: number;
  /** How many deliveries are read at most, whether they pass the filters or not. */
  maxScanned: number;
}

export interface History {
  rows: HistoryRow[];
  /** The delivery after which the next part begins; null where the history ends. */
  lastSeen: string | null;
}

/**
 * A part of an endpoint's history, newest first: up to `limit` deliveries that pass the filters, among the next
 * `maxScanned`. A rare outcome in a long history takes several calls, none of which is slow.
 *
 * Locks nothing. Walks delivery_endpoint_id_id_idx backwards from the cursor, until the page is full or `maxScanned` rows
 * were read, and delivery_attempt_pkey once a row. The organization is a condition on the endpoint and not on the
 * deliveries: there PostgreSQL could choose the organization's index, and read the deliveries of all its endpoints.
 */
export async function deliveryHistory(queries: Queries, query: HistoryQuery): Promise<History> {
  const { outcomes, eventTypes, from, to, limit, maxScanned } = query;
  const rows = await queries.$queryRaw<HistoryRow[]>`
    select page.id, business_event_id as "businessEventId", event_type as "eventType", state::text,
           attempt_count as "attemptCount", in_flight as "inFlight", page.status_code as "statusCode",
           page.error_summary as "errorSummary", attempted_at as "attemptedAt", created_at as "createdAt",
           next_attempt_at as "nextAttemptAt", latest.duration_ms as "durationMs"
    from (
      select *
      from (
        select * from delivery where ${olderDeliveries(query)} order by id desc limit ${maxScanned}
      ) as scanned
      where true
        ${outcomes.length === 0 ? Prisma.empty : Prisma.sql`and ${outcome} = any (${outcomes}::text[])`}
        ${eventTypes.length === 0 ? Prisma.empty : Prisma.sql`and event_type = any (${eventTypes}::text[])`}
        ${from === null ? Prisma.empty : Prisma.sql`and created_at >= ${from}::timestamptz`}
        ${to === null ? Prisma.empty : Prisma.sql`and created_at < ${to}::timestamptz`}
      order by id desc
      limit ${limit}
    ) as page
    left join lateral (
      select duration_ms from delivery_attempt where delivery_id = page.id order by number desc limit 1
    ) as latest on true
    order by page.id desc`;
  if (rows.length === limit) return { rows, lastSeen: rows.at(-1)?.id ?? null };
  // The page isn't full: either the history has ended, or `maxScanned` rows were read.
  const [last] = await queries.$queryRaw<{ id: string }[]>`
    select id from delivery where ${olderDeliveries(query)} order by id desc offset ${maxScanned - 1} limit 1`;
  return { rows, lastSeen: last?.id ?? null };
}

function olderDeliveries({ organizationId, endpointId, olderThan }: HistoryQuery): Prisma.Sql {
  return Prisma.sql`
    endpoint_id = (
      select id from webhook_endpoint where id = ${endpointId}::uuid and organization_id = ${organizationId}
    ) ${olderThan === null ? Prisma.empty : Prisma.sql`and id < ${olderThan}::uuid`}`;
}

/** A delivery's outcome, as the contract defines it. */
const outcome = Prisma.sql`
  case when state in ('succeeded', 'exhausted') then state::text when status_code is null then 'waiting' else 'failing' end`;
