import { onDaysOf } from "@herald/common/database/days";
import { Prisma } from "@herald/common/database/generated/client";
import { timeOf } from "@herald/common/database/ids";
import type { Reads } from "@herald/common/database/queries";
import { historyColumns, outcome } from "@herald/common/history/sql/deliveries";
import type { HistoryRow } from "@herald/common/history/summary";
import type { Outcome } from "@herald/contracts";
import { newestDeliveries, ofAllTimes } from "./newest-deliveries.ts";

/** A period of a history, and the ids between which all of its deliveries lie, the second excluded. Null is no limit. */
export interface Period {
  from: Date | null;
  to: Date | null;
  firstId: string | null;
  endId: string | null;
}

export interface HistoryQuery extends Period {
  organizationId: string;
  /** Null for all endpoints of the organization. */
  endpointId: string | null;
  now: Date;
  /** Only deliveries with one of these ids, which are older than `olderThan`; null for all. */
  among: readonly string[] | null;
  /** Only deliveries older than this one; null for all. */
  olderThan: string | null;
  /** Only deliveries with these outcomes, of these event types, and with these statuses; an empty list lets all pass. */
  outcomes: readonly Outcome[];
  eventTypes: readonly string[];
  statusCodes: readonly number[];
  limit: number;
  /** How many deliveries are read at most, whether they pass the filters or not. `among` is no longer than that. */
  maxScanned: number;
}

export interface History {
  rows: HistoryRow[];
  /** The delivery after which the next part begins; null if the history, or what is `among`, ends. */
  lastSeen: string | null;
}

/**
 * A part of the history of an endpoint or of all, newest first: up to `limit` deliveries that pass the filters, among the next
 * `maxScanned`. A rare outcome in a long history takes several calls, and none of them is slow.
 *
 * Locks nothing. Walks delivery_endpoint_id_id_idx backwards from the cursor, until the page is full or `maxScanned` rows
 * were read, from the ids of `to` down to those of `from`; of all endpoints, what {@link newestDeliveries} walks. With `among` it
 * walks delivery_pkey instead, in one partition an id. Besides, business_event_pkey twice a row, webhook_endpoint_pkey, and webhook_endpoint_organization_id_id_idx.
 */
export async function deliveryHistory(queries: Reads, query: HistoryQuery): Promise<History> {
  const { now, among, outcomes, eventTypes, statusCodes, from, to, limit, maxScanned } = query;
  if (among?.length === 0) return { rows: [], lastSeen: null };
  const rows = await queries.$queryRaw<HistoryRow[]>`
    select ${historyColumns(now, among ? onDaysOf("event.key", among) : undefined)}, endpoint.name as "endpointName"
    from (
      select *, endpoint_id in (${enabledEndpoints(query)}) as enabled
      from (
        ${among === null ? nextDeliveries(query) : deliveriesAmong(query, among)}
      ) as scanned
      offset 0
    ) as delivery
    cross join lateral (select name from webhook_endpoint where id = delivery.endpoint_id offset 0) as endpoint
    where true
      ${outcomes.length === 0 ? Prisma.empty : Prisma.sql`and ${outcome} = any (${outcomes}::text[])`}
      ${eventTypes.length === 0 ? Prisma.empty : Prisma.sql`and event_type = any (${eventTypes}::text[])`}
      ${statusCodes.length === 0 ? Prisma.empty : Prisma.sql`and status_code = any (${statusCodes}::int[])`}
      ${from === null ? Prisma.empty : Prisma.sql`and created_at >= ${from}::timestamptz`}
      ${to === null ? Prisma.empty : Prisma.sql`and created_at < ${to}::timestamptz`}
    order by delivery.id desc
    limit ${limit}`;
  if (rows.length === limit) return { rows, lastSeen: rows.at(-1)?.id ?? null };
  if (among !== null) return { rows, lastSeen: null };
  // The page isn't full: either the history has ended, or `maxScanned` rows were read.
  const [last] = await queries.$queryRaw<{ id: string }[]>`
    select id from (${nextDeliveries(query)}) as scanned order by id desc offset ${maxScanned - 1} limit 1`;
  return { rows, lastSeen: last?.id ?? null };
}

/** A subplan that PostgreSQL runs once and hashes: to join each delivery that is read would read twice as many pages. */
function enabledEndpoints({ organizationId, endpointId }: HistoryQuery): Prisma.Sql {
  return Prisma.sql`
    select id
    from webhook_endpoint
    where organization_id = ${organizationId} and enabled
      ${endpointId === null ? Prisma.empty : Prisma.sql`and id = ${endpointId}::uuid`}`;
}

function nextDeliveries(query: HistoryQuery): Prisma.Sql {
  if (query.endpointId === null) return nextOfAll(query);
  return Prisma.sql`
    select * from delivery where ${olderDeliveries(query)} order by id desc limit ${query.maxScanned}`;
}

function nextOfAll({ organizationId, olderThan, firstId, endId, now, maxScanned }: HistoryQuery): Prisma.Sql {
  const [before] = [olderThan, endId].filter((id) => id !== null).sort();
  const times = ofAllTimes(before === undefined ? now : timeOf(before), firstId ?? undefined);
  return Prisma.sql`
    with ${newestDeliveries({ organizationId, ...times, before, limit: maxScanned })}
    select * from newest`;
}

function deliveriesAmong(query: HistoryQuery, ids: readonly string[]): Prisma.Sql {
  return Prisma.sql`
    select found.*
    from unnest(${ids}::uuid[]) as wanted (id)
    cross join lateral (
      select * from delivery where id = wanted.id and ${onDaysOf("id", ids)} and ${ofEndpoint(query)} offset 0
    ) as found`;
}

function olderDeliveries(query: HistoryQuery): Prisma.Sql {
  const { olderThan, firstId, endId } = query;
  return Prisma.sql`
    ${ofEndpoint(query)}
    ${olderThan === null ? Prisma.empty : Prisma.sql`and id < ${olderThan}::uuid`}
    ${firstId === null ? Prisma.empty : Prisma.sql`and id >= ${firstId}::uuid`}
    ${endId === null ? Prisma.empty : Prisma.sql`and id < ${endId}::uuid`}`;
}

function ofEndpoint({ organizationId, endpointId }: HistoryQuery): Prisma.Sql {
  if (endpointId === null) {
    return Prisma.sql`exists (
      select from webhook_endpoint where id = delivery.endpoint_id and organization_id = ${organizationId}
    )`;
  }
  return Prisma.sql`endpoint_id = (
    select id from webhook_endpoint where id = ${endpointId}::uuid and organization_id = ${organizationId}
  )`;
}
