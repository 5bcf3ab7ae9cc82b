import type { PrismaClient } from "@herald/common/database/generated/client";
import { attemptHeaders, type HeaderSettings, timestampText } from "@herald/common/security/attempt-headers";
import type { DeliveryAttemptInfo, DeliveryDetails, DeliveryListItem, DeliveryPage, Outcome } from "@herald/contracts";
import { ProblemError } from "../problems/problem-error.ts";
import { deliveryDetails } from "../sql/delivery-details.ts";
import { deliveryHistory, type HistoryRow } from "../sql/delivery-history.ts";
import { cursorOf, parseCursor } from "./cursor.ts";
import { toDeliverySummary, toUtc } from "./summary.ts";

/** The query parameters of a history, validated. */
export interface HistoryFilter {
  limit: number;
  cursor?: string;
  outcome?: Outcome[];
  eventType?: string[];
  from?: string;
  to?: string;
}

/** Some tens of milliseconds of PostgreSQL's time. */
const MAX_SCANNED = 20_000;

/** @throws ProblemError `webhook_not_found` */
export async function listDeliveries(
  prisma: PrismaClient,
  { id: endpointId, organizationId }: { id: string; organizationId: string },
  filter: HistoryFilter,
): Promise<DeliveryPage> {
  const { rows, lastSeen } = await deliveryHistory(prisma, {
    organizationId,
    endpointId,
    olderThan: filter.cursor === undefined ? null : parseCursor(filter.cursor),
    outcomes: filter.outcome ?? [],
    eventTypes: filter.eventType ?? [],
    from: filter.from === undefined ? null : new Date(filter.from),
    to: filter.to === undefined ? null : new Date(filter.to),
    limit: filter.limit,
    maxScanned: MAX_SCANNED,
  });
  if (rows.length === 0) await assertEndpoint(prisma, { id: endpointId, organizationId });
  return { deliveries: rows.map(toListItem), nextCursor: lastSeen === null ? null : cursorOf(lastSeen) };
}

/** @throws ProblemError `webhook_not_found` or `delivery_not_found` */
export async function readDelivery(
  prisma: PrismaClient,
  ids: { id: string; endpointId: string; organizationId: string },
  headers: HeaderSettings,
): Promise<DeliveryDetails> {
  const row = await deliveryDetails(prisma, ids);
  if (row === null) {
    await assertEndpoint(prisma, { id: ids.endpointId, organizationId: ids.organizationId });
    throw new ProblemError("delivery_not_found");
  }
  const { id: deliveryId, eventType } = row;
  const body = row.body ?? "";
  const attempts = row.attempts.map(({ startedAt: startedText, traceparent: own, ...attempt }): DeliveryAttemptInfo => {
    const startedAt = new Date(startedText);
    // With which trace context an interrupted attempt was sent is not stored.
    const traceparent = attempt.failureKind === "interrupted" ? null : (own ?? row.traceparent);
    const sent = attemptHeaders({ deliveryId, eventType, startedAt, body, traceparent }, headers);
    return {
      ...attempt,
      attemptedAtUtc: toUtc(startedAt),
      timestamp: timestampText(startedAt),
      headers: pairs(sent),
    };
  });
  return { ...toListItem(row), body, attempts };
}

function pairs(flat: string[]): [name: string, value: string][] {
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index] ?? "", flat[2 * index + 1] ?? ""]);
}

async function assertEndpoint(prisma: PrismaClient, endpoint: { id: string; organizationId: string }): Promise<void> {
  const found = await prisma.webhookEndpoint.findFirst({ where: endpoint, select: { id: true } });
  if (found === null) throw new ProblemError("webhook_not_found");
}

function toListItem(row: HistoryRow): DeliveryListItem {
  const isScheduled = row.state === "pending" && !row.inFlight;
  return {
    ...toDeliverySummary(row),
    failureKind: row.failureKind,
    state: row.state,
    inFlight: row.inFlight,
    createdAtUtc: toUtc(row.createdAt),
    nextAttemptAtUtc: isScheduled ? toUtc(row.nextAttemptAt) : null,
    durationMs: row.durationMs,
  };
}
