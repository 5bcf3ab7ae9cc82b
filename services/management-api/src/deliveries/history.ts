import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Reads } from "@herald/common/database/queries";
import { eventKeys } from "@herald/common/history/sql/events";
import { type HistoryRow, toListItem, toUtc } from "@herald/common/history/summary";
import type { Clock } from "@herald/common/runtime/clock";
import { attemptHeaders, type HeaderSettings, timestampText } from "@herald/common/security/attempt-headers";
import type {
  AllDeliveriesQuery,
  DeliveryAttemptInfo,
  DeliveryDetails,
  DeliveryPage,
  DeliveryQuery,
} from "@herald/contracts";
import { type EndpointKey, findEndpoint } from "../endpoints/find-endpoint.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { deliveryDetails } from "../sql/delivery-details.ts";
import { deliveryHistory } from "../sql/delivery-history.ts";
import { endpointIdsOf } from "../sql/list-endpoints.ts";
import { cursorOf, deliveriesOf, type FilteredDeliveries, keysBefore, parseCursor, periodOf } from "./filter.ts";

export interface HistoryParts {
  prisma: PrismaClient;
  /** Bounded in time. */
  queries: Reads;
  clock: Clock;
  windowDays: number;
}

export type DeliveryFilter = Omit<DeliveryQuery, "limit" | "cursor">;

/** How many deliveries one answer reads: some milliseconds of PostgreSQL's time, however rare the deliveries that pass the filters are. */
export const MAX_SCANNED = 2_000;
/** The same for the history of all endpoints. Some more deliveries are read to find the newest. */
export const MAX_SCANNED_OF_ALL = 1_000;

/** @throws ProblemError `webhook_not_found` */
export async function listDeliveries(
  parts: HistoryParts,
  key: EndpointKey,
  { limit, cursor, ...filter }: DeliveryQuery,
): Promise<DeliveryPage> {
  const olderThan = cursor === undefined ? null : parseCursor(cursor);
  const { rows, next } = await readHistory(parts, key, filter, { olderThan, limit });
  if (rows.length === 0) await findEndpoint(parts.prisma, key);
  return pageOf(rows, next);
}

/** The deliveries of all of an organization's endpoints, or of one. */
export async function listAllDeliveries(
  parts: HistoryParts,
  organizationId: string,
  { limit, cursor, endpointId, ...filter }: AllDeliveriesQuery,
): Promise<DeliveryPage> {
  const olderThan = cursor === undefined ? null : parseCursor(cursor);
  const of = { organizationId, id: endpointId ?? null };
  const { rows, next } = await readHistory(parts, of, filter, { olderThan, limit });
  return pageOf(rows, next);
}

function pageOf(rows: HistoryRow[], next: string | null): DeliveryPage {
  return { deliveries: rows.map(toListItem), nextCursor: next === null ? null : cursorOf(next) };
}

/** Names the history: an endpoint's, or that of all endpoints of an organization. */
interface HistoryKey {
  organizationId: string;
  id: string | null;
}

/**
 * The next part of a history: up to `limit` deliveries of it, among the next {@link MAX_SCANNED}. `next` is the delivery behind
 * which the part after it begins; null if the history ends.
 */
export async function readHistory(
  { queries, clock, windowDays }: Omit<HistoryParts, "prisma">,
  key: HistoryKey,
  filter: DeliveryFilter,
  { olderThan, limit }: { olderThan: string | null; limit: number },
): Promise<{ rows: HistoryRow[]; next: string | null }> {
  const found = await seek(queries, key, filter, olderThan);
  const { rows, lastSeen } = await deliveryHistory(queries, {
    organizationId: key.organizationId,
    endpointId: key.id,
    now: clock.now(),
    among: found?.ids ?? null,
    olderThan,
    outcomes: filter.outcome ?? [],
    eventTypes: filter.eventType ?? [],
    statusCodes: filter.statusCode ?? [],
    ...periodOf(filter, windowDays),
    limit,
    maxScanned: scanOf(key, filter, limit),
  });
  return { rows, next: lastSeen ?? found?.rest ?? null };
}

/** Deliveries that pass no filter are read all the same. */
function scanOf({ id }: HistoryKey, filter: DeliveryFilter, limit: number): number {
  if (id !== null) return MAX_SCANNED;
  return Object.values(filter).some((value) => value !== undefined) ? MAX_SCANNED_OF_ALL : limit;
}

/** One read looks for the deliveries of at least this many events, however many endpoints there are. */
const MIN_EVENTS = 10;

/** The deliveries that match the filter's ids; null if it has no ids. */
async function seek(
  queries: Reads,
  { id, organizationId }: HistoryKey,
  filter: DeliveryFilter,
  olderThan: string | null,
): Promise<FilteredDeliveries | null> {
  const { eventId = null, entityId = null, idPrefix = null, deliveryId: only = null } = filter;
  if (eventId === null && entityId === null && idPrefix === null) {
    return only === null ? null : { ids: olderThan === null || only < olderThan ? [only] : [], rest: null };
  }
  const endpointIds = id === null ? await endpointIdsOf(queries, organizationId) : [id];
  const { keys, next } = await eventKeys(queries, {
    ...{ organizationId, eventId, entityId, idPrefix },
    ...{ types: [], firstKey: null, before: olderThan && keysBefore(olderThan) },
    limit: Math.max(MIN_EVENTS, Math.floor(MAX_SCANNED / Math.max(1, endpointIds.length))),
  });
  const found = deliveriesOf(keys, { endpointIds, olderThan, isCut: next !== null });
  return only === null ? found : { ...found, ids: found.ids.filter((id) => id === only) };
}

/** @throws ProblemError `webhook_not_found` or `delivery_not_found` */
export async function readDelivery(
  { prisma, queries, clock }: HistoryParts,
  key: EndpointKey,
  deliveryId: string,
  headers: HeaderSettings,
): Promise<DeliveryDetails> {
  const { id: endpointId, organizationId } = key;
  const row = await deliveryDetails(queries, { id: deliveryId, endpointId, organizationId, now: clock.now() });
  if (row === null) {
    await findEndpoint(prisma, key);
    throw new ProblemError("delivery_not_found");
  }
  const { eventType } = row;
  const body = row.body ?? "";
  const attempts = row.attempts.map(({ startedAt: startedText, traceparent: own, ...attempt }): DeliveryAttemptInfo => {
    const startedAt = new Date(startedText);
    // The trace context of an interrupted attempt is not stored.
    const traceparent = attempt.failureKind === "interrupted" ? null : (own ?? row.traceparent);
    const sent = attemptHeaders({ deliveryId, eventType, startedAt, body, traceparent }, headers);
    return {
      ...attempt,
      attemptedAtUtc: toUtc(startedAt),
      timestamp: timestampText(startedAt),
      headers: pairs(sent),
    };
  });
  return { ...toListItem(row), resendOf: row.resendOf, author: row.author, body, attempts };
}

function pairs(flat: string[]): [name: string, value: string][] {
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index] ?? "", flat[2 * index + 1] ?? ""]);
}
