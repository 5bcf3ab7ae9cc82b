import type { DeliveryListItem, DeliveryState, FailureKind, WebhookDeliverySummary } from "@herald/contracts";

/** Between the body's opening brace and this field there are an id, a name and a time: texts without a brace. */
const FIELD = /^\{[^{]*?"entityType":("(?:[^"\\]|\\.)*")/;

/** The kind of entity that the beginning of a body names, as receivers read it; null where it names none. */
export function entityTypeOf(head: string): string | null {
  const text = FIELD.exec(head)?.[1];
  return text === undefined ? null : (JSON.parse(text) as string);
}

/** The columns that a delivery's summary is made of. */
export interface DeliveryRow {
  id: string;
  businessEventId: string | null;
  eventType: string;
  state: DeliveryState;
  attemptCount: number;
  statusCode: number | null;
  errorSummary: string | null;
  /** A date, or its text where the row was read as JSON. */
  attemptedAt: Date | string | null;
}

/** The columns that a row of a history is made of. */
export interface HistoryRow extends DeliveryRow {
  endpointId: string;
  endpointName: string;
  /** Null for a manual delivery. */
  entityId: string | null;
  failureKind: FailureKind | null;
  createdAt: Date;
  durationMs: number | null;
  /** Whether its time has come; nothing says whether its attempt has begun. */
  isDue: boolean;
  /** When it is due; null where it has ended. */
  nextAttemptAt: Date | null;
  isEndpointEnabled: boolean;
}

/** A delivery by its latest attempt (SPEC 2.2). */
export function toDeliverySummary(row: DeliveryRow): WebhookDeliverySummary {
  return {
    id: row.id,
    ...(row.businessEventId !== null && { businessEventId: row.businessEventId }),
    eventType: row.eventType,
    attemptCount: row.attemptCount,
    statusCode: row.statusCode,
    succeeded: row.state === "succeeded",
    errorSummary: row.errorSummary,
    attemptedAtUtc: toUtc(row.attemptedAt),
  };
}

/** A delivery's summary, and what happens to it next. */
export function toListItem(row: HistoryRow): DeliveryListItem {
  // Nothing is written when an endpoint is disabled: what waits for it is parked as long as it is.
  const state = row.state === "pending" && !row.isEndpointEnabled ? "parked" : row.state;
  const isPending = state === "pending";
  return {
    ...toDeliverySummary(row),
    endpointId: row.endpointId,
    endpointName: row.endpointName,
    entityId: row.entityId,
    failureKind: row.failureKind,
    state,
    inFlight: isPending && row.isDue,
    createdAtUtc: toUtc(row.createdAt),
    nextAttemptAtUtc: isPending && !row.isDue ? toUtc(row.nextAttemptAt) : null,
    durationMs: row.durationMs,
  };
}

export function toUtc(time: Date | string): string;
export function toUtc(time: Date | string | null): string | null;
export function toUtc(time: Date | string | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
