import type { PrismaClient } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";
import type { DeliveryAttemptInfo, DeliveryDetails, DeliveryListItem, DeliveryPage, Outcome } from "@herald/contracts";
import { type EndpointKey, findEndpoint } from "../endpoints/find-endpoint.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { deliveryDetails } from "../sql/delivery-details.ts";
import { deliveryHistory, type HistoryRow } from "../sql/delivery-history.ts";
import { cursorOf, parseCursor } from "./cursor.ts";
import { type SentHeaders, sentHeaders } from "./sent-headers.ts";
import { toDeliverySummary, toUtc } from "./summary.ts";

interface HistoryParts {
  prisma: PrismaClient;
  queries: Queries;
}

/** The query parameters of a history, validated. */
export interface HistoryFilter {
  limit: number;
  cursor?: string;
  outcome?: Outcome[];
  eventType?: string[];
  from?: string;
  to?: string;
}

/** How many deliveries one answer reads: some tens of milliseconds of PostgreSQL's time. */
const MAX_SCANNED = 20_000;

/** @throws ProblemError `webhook_not_found` */
export async function listDeliveries(
  { prisma, queries }: HistoryParts,
  key: EndpointKey,
  filter: HistoryFilter,
): Promise<DeliveryPage> {
  const { rows, lastSeen } = await deliveryHistory(queries, {
    organizationId: key.organizationId,
    endpointId: key.id,
    olderThan: filter.cursor === undefined ? null : parseCursor(filter.cursor),
    outcomes: filter.outcome ?? [],
    eventTypes: filter.eventType ?? [],
    from: filter.from === undefined ? null : new Date(filter.from),
    to: filter.to === undefined ? null : new Date(filter.to),
    limit: filter.limit,
    maxScanned: MAX_SCANNED,
  });
  if (rows.length === 0) await findEndpoint(prisma, key);
  return { deliveries: rows.map(toListItem), nextCursor: lastSeen === null ? null : cursorOf(lastSeen) };
}

/** @throws ProblemError `webhook_not_found` or `delivery_not_found` */
export async function readDelivery(
  { prisma, queries }: HistoryParts,
  key: EndpointKey,
  deliveryId: string,
  headers: SentHeaders,
): Promise<DeliveryDetails> {
  const { id: endpointId, organizationId } = key;
  const row = await deliveryDetails(queries, { id: deliveryId, endpointId, organizationId });
  if (row === null) {
    await findEndpoint(prisma, key);
    throw new ProblemError("delivery_not_found");
  }
  const { eventType, traceparent } = row;
  const body = row.body ?? "";
  const attempts = row.attempts.map(({ startedAt, ...attempt }): DeliveryAttemptInfo => {
    const timestamp = String(Math.floor(Date.parse(startedAt) / 1000));
    const sent = { deliveryId: row.id, eventType, timestamp, body, traceparent };
    return { ...attempt, attemptedAtUtc: toUtc(startedAt), timestamp, headers: sentHeaders(sent, headers) };
  });
  return { ...toListItem(row), body, attempts };
}

function toListItem(row: HistoryRow): DeliveryListItem {
  const isScheduled = row.state === "pending" && !row.inFlight;
  return {
    ...toDeliverySummary(row),
    state: row.state,
    inFlight: row.inFlight,
    createdAtUtc: toUtc(row.createdAt),
    nextAttemptAtUtc: isScheduled ? toUtc(row.nextAttemptAt) : null,
    durationMs: row.durationMs,
  };
}
