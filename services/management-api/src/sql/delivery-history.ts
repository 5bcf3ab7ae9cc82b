import { Prisma, type PrismaClient } from "@herald/common/database/generated/client";
import type { FailureKind, Outcome } from "@herald/contracts";
import type { DeliveryRow } from "../deliveries/summary.ts";

export interface HistoryRow extends DeliveryRow {
  failureKind: FailureKind | null;
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
 * Locks nothing. Walks delivery_endpoint_id_id_idx backwards from the cursor, until the page is full or enough was looked at,
 * and delivery_attempt_pkey once a row. The organization is asked of the endpoint: a condition on the deliveries' own would
 * let PostgreSQL choose the other index, and read past all other endpoints' deliveries.
 */
export async function deliveryHistory(prisma: PrismaClient, query: HistoryQuery): Promise<History> {
  const { outcomes, eventTypes, from, to, limit, maxScanned } = query;
  const rows = await prisma.$queryRaw<HistoryRow[]>`
    select page.id, business_event_id as "businessEventId", event_type as "eventType", state::text,
           attempt_count as "attemptCount", in_flight as "inFlight", page.status_code as "statusCode",
           page.error_summary as "errorSummary", page.failure_kind as "failureKind", attempted_at as "attemptedAt", created_at as "createdAt",
           next_attempt_at as "nextAttemptAt", latest.duration_ms as "durationMs"
    from (
      select *
      from (
        select * from delivery where ${older(query)} order by id desc limit ${maxScanned}
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
  // The page isn't full: either the history has ended, or enough was looked at for once.
  const [last] = await prisma.$queryRaw<{ id: string }[]>`
    select id from delivery where ${older(query)} order by id desc offset ${maxScanned - 1} limit 1`;
  return { rows, lastSeen: last?.id ?? null };
}

function older({ organizationId, endpointId, olderThan }: HistoryQuery): Prisma.Sql {
  return Prisma.sql`
    endpoint_id = (
      select id from webhook_endpoint where id = ${endpointId}::uuid and organization_id = ${organizationId}
    ) ${olderThan === null ? Prisma.empty : Prisma.sql`and id < ${olderThan}::uuid`}`;
}

/** As the contract defines it. */
const outcome = Prisma.sql`
  case when state in ('succeeded', 'exhausted') then state::text when status_code is null then 'waiting' else 'failing' end`;
