import { eventKeys } from "@herald/common/history/sql/events";
import { toListItem, toUtc } from "@herald/common/history/summary";
import { attemptHeaders, timestampText } from "@herald/common/security/attempt-headers";
import type { DeliveryAttemptInfo, DeliveryDetails, DeliveryPage, DeliveryQuery } from "@herald/contracts";
import { findEndpoint } from "../endpoints/find-endpoint.ts";
import type { Parts } from "../parts.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { deliveryDetails } from "../sql/delivery-details.ts";
import { deliveryHistory } from "../sql/delivery-history.ts";
import type { EndpointKey } from "../sql/endpoint-details.ts";
import { endpointIdsOf } from "../sql/endpoint-overviews.ts";
import { cursorOf, olderThanOf } from "../validation/opaque.ts";
import { deliveriesOf, type FilteredDeliveries, keysBefore, periodOf } from "./filter.ts";

/** How many deliveries one answer reads: some milliseconds of PostgreSQL's time, however rare the deliveries that pass the filters are. */
export const MAX_SCANNED = 2_000;
/** The same for the history of all endpoints. Some more deliveries are read to find the newest. */
export const MAX_SCANNED_OF_ALL = 1_000;

/** @throws ProblemError `webhook_not_found` */
export async function listDeliveries(parts: Parts, key: EndpointKey, query: DeliveryQuery): Promise<DeliveryPage> {
  const page = await readHistory(parts, key, query);
  if (page.deliveries.length === 0) await findEndpoint(parts.prisma, key);
  return page;
}

/** Names the history: an endpoint's, or that of all endpoints of an organization. */
interface HistoryKey {
  organizationId: string;
  id: string | null;
}

/** The next part of a history: up to `limit` deliveries of it, among the next {@link MAX_SCANNED}. */
export async function readHistory(parts: Parts, key: HistoryKey, query: DeliveryQuery): Promise<DeliveryPage> {
  const { limit, cursor: _cursor, ...filter } = query;
  const olderThan = olderThanOf(query);
  const found = await seek(parts, key, filter, olderThan);
  const { rows, lastSeen } = await deliveryHistory(parts.reads, {
    organizationId: key.organizationId,
    endpointId: key.id,
    now: parts.clock.now(),
    among: found?.ids ?? null,
    olderThan,
    outcomes: filter.outcome ?? [],
    eventTypes: filter.eventType ?? [],
    statusCodes: filter.statusCode ?? [],
    ...periodOf(filter, parts.config.PUBLICATION_WINDOW_DAYS),
    limit,
    maxScanned: scanOf(key, filter, limit),
  });
  const next = lastSeen ?? found?.rest ?? null;
  return { deliveries: rows.map(toListItem), nextCursor: next && cursorOf(next) };
}

/** Deliveries that pass no filter are read all the same. */
function scanOf({ id }: HistoryKey, filter: object, limit: number): number {
  if (id !== null) return MAX_SCANNED;
  return Object.values(filter).some((value) => value !== undefined) ? MAX_SCANNED_OF_ALL : limit;
}

/** One read looks for the deliveries of at least this many events, however many endpoints there are. */
const MIN_EVENTS = 10;

/** The deliveries that match the filter's ids; null if it has no ids. */
async function seek(
  { reads }: Parts,
  { id, organizationId }: HistoryKey,
  filter: Omit<DeliveryQuery, "limit">,
  olderThan: string | null,
): Promise<FilteredDeliveries | null> {
  const { eventId = null, entityId = null, idPrefix = null, deliveryId: only = null } = filter;
  if (eventId === null && entityId === null && idPrefix === null) {
    return only === null ? null : { ids: olderThan === null || only < olderThan ? [only] : [], rest: null };
  }
  const endpointIds = id === null ? await endpointIdsOf(reads, organizationId) : [id];
  const { keys, next } = await eventKeys(reads, {
    ...{ organizationId, eventId, entityId, idPrefix },
    ...{ types: [], firstKey: null, before: olderThan && keysBefore(olderThan) },
    limit: Math.max(MIN_EVENTS, Math.floor(MAX_SCANNED / Math.max(1, endpointIds.length))),
  });
  const found = deliveriesOf(keys, { endpointIds, olderThan, isCut: next !== null });
  return only === null ? found : { ...found, ids: found.ids.filter((id) => id === only) };
}

/** @throws ProblemError `webhook_not_found` or `delivery_not_found` */
export async function readDelivery(
  { config, prisma, reads, clock }: Parts,
  key: EndpointKey,
  deliveryId: string,
): Promise<DeliveryDetails> {
  const { id: endpointId, organizationId } = key;
  const row = await deliveryDetails(reads, { id: deliveryId, endpointId, organizationId, now: clock.now() });
  if (row === null) {
    await findEndpoint(prisma, key);
    throw new ProblemError("delivery_not_found");
  }
  const { eventType } = row;
  const body = row.body ?? "";
  const headers = { headerPrefix: config.HEADER_PREFIX, standardWebhooks: config.STANDARD_WEBHOOKS };
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
