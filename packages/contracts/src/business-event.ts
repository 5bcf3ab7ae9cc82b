import type { EventType } from "./event-types.ts";
import { ORGANIZATION_ID_PATTERN } from "./rules.ts";

/** One changed field of an entity. Text or null, also for values that look numeric (SPEC 2.4). */
export interface FieldChange {
  oldValue: string | null;
  newValue: string | null;
}

/** Event-specific details; not a snapshot of the entity (SPEC 2.4). */
export interface EventData {
  changes?: Record<string, FieldChange>;
  [detail: string]: unknown;
}

/**
 * The body that receivers get for an automatic event, its fields in this order (SPEC 2.4).
 * It names no organization: the receiver knows its own by endpoint and secret.
 */
export interface EventPayload {
  /** UUID of the business event, not of the delivery. */
  id: string;
  type: EventType;
  /** ISO 8601, UTC, ends in Z: when the event happened, not when it is sent. */
  occurredAtUtc: string;
  entityType: string;
  /** UUID. */
  entityId: string;
  data: EventData;
}

/** What a product service publishes: the payload, and whose it is. */
export interface BusinessEvent extends EventPayload {
  organizationId: string;
}

/** The largest event body that the broker contract allows, in bytes of UTF-8. */
export const MAX_EVENT_BYTES = 256 * 1024;

/**
 * JSON Schema of a business event on the broker. `type` is any text here: a name that Herald does not deliver is
 * counted and ignored, which is not the same as a broken body. Fields beyond these are tolerated.
 */
export const businessEventSchema = {
  $id: "https://herald.invalid/schemas/business-event.json",
  type: "object",
  required: ["organizationId", "id", "type", "occurredAtUtc", "entityType", "entityId", "data"],
  properties: {
    organizationId: { type: "string", pattern: ORGANIZATION_ID_PATTERN },
    id: { type: "string", format: "uuid" },
    type: { type: "string", minLength: 1, maxLength: 128 },
    occurredAtUtc: { type: "string", format: "utc-date-time" },
    entityType: { type: "string", minLength: 1, maxLength: 128 },
    entityId: { type: "string", format: "uuid" },
    data: {
      type: "object",
      properties: {
        changes: {
          type: "object",
          additionalProperties: {
            type: "object",
            required: ["oldValue", "newValue"],
            properties: {
              oldValue: { type: ["string", "null"] },
              newValue: { type: ["string", "null"] },
            },
          },
        },
      },
    },
  },
} as const;
