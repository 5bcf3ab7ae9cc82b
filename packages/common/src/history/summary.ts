import type { DeliveryListItem, WebhookDeliverySummary } from "@herald/contracts";

/** Between the body's opening brace and this field there are an id, a name and a time: texts without a brace. */
const FIELD = /^\{[^{]*?"entityType":("(?:[^"\\]|\\.)*")/;

/** The kind of entity that the beginning of a body names, as receivers read it; null if it names none. */
export function entityTypeOf(head: string): string | null {
  const text = FIELD.exec(head)?.[1];
  return text === undefined ? null : (JSON.parse(text) as string);
}

export interface DeliveryRow extends Omit<WebhookDeliverySummary, "businessEventId" | "attemptedAtUtc"> {
  businessEventId: string | null;
  /** A date, or its text where the row was read as JSON. */
  attemptedAt: Date | string | null;
}

type Unchanged = "endpointId" | "endpointName" | "entityId" | "failureKind" | "durationMs" | "outcome" | "inFlight";

export interface HistoryRow extends DeliveryRow, Pick<DeliveryListItem, Unchanged> {
  createdAt: Date;
  /** When its next attempt is due; null if none is, or it is in flight. */
  nextAttemptAt: Date | null;
}

/** A delivery by its latest attempt (SPEC 2.2). */
export function toDeliverySummary(row: DeliveryRow): WebhookDeliverySummary {
  return {
    id: row.id,
    ...(row.businessEventId !== null && { businessEventId: row.businessEventId }),
    eventType: row.eventType,
    attemptCount: row.attemptCount,
    statusCode: row.statusCode,
    succeeded: row.succeeded,
    errorSummary: row.errorSummary,
    attemptedAtUtc: toUtc(row.attemptedAt),
  };
}

export function toListItem(row: HistoryRow): DeliveryListItem {
  return {
    ...toDeliverySummary(row),
    endpointId: row.endpointId,
    endpointName: row.endpointName,
    entityId: row.entityId,
    failureKind: row.failureKind,
    outcome: row.outcome,
    inFlight: row.inFlight,
    createdAtUtc: toUtc(row.createdAt),
    nextAttemptAtUtc: toUtc(row.nextAttemptAt),
    durationMs: row.durationMs,
  };
}

export function toUtc(time: Date | string): string;
export function toUtc(time: Date | string | null): string | null;
export function toUtc(time: Date | string | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
