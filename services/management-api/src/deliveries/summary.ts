import type { DeliveryState, EventType, WebhookDeliverySummary } from "@herald/contracts";

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

/** A delivery by its latest attempt (SPEC 2.2). */
export function toDeliverySummary(row: DeliveryRow): WebhookDeliverySummary {
  return {
    id: row.id,
    ...(row.businessEventId !== null && { businessEventId: row.businessEventId }),
    eventType: row.eventType as EventType,
    attemptCount: row.attemptCount,
    statusCode: row.statusCode,
    succeeded: row.state === "succeeded",
    errorSummary: row.errorSummary,
    attemptedAtUtc: toUtc(row.attemptedAt),
  };
}

export function toUtc(time: Date | string): string;
export function toUtc(time: Date | string | null): string | null;
export function toUtc(time: Date | string | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
