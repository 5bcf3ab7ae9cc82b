import { ORGANIZATION_ID_PATTERN } from "./rules.ts";

/** What a notice can say; its routing key on the exchange `herald.notices`, and its `type`. */
export const NOTICE_TYPES = ["endpoint.failing", "endpoint.disabled"] as const;

/**
 * - `endpoint.failing`: so many attempts in a row failed that somebody should look; Herald goes on sending
 * - `endpoint.disabled`: more failed, and Herald stopped sending until an admin resumes the endpoint (SPEC 3.1)
 */
export type NoticeType = (typeof NOTICE_TYPES)[number];

/** An attempt of the run of failures behind a notice. */
export interface NoticeAttempt {
  /** UUID, as in the delivery-id header. */
  deliveryId: string;
  eventType: string;
  /** Which attempt of its delivery it was: 1 to 5. */
  number: number;
  /** ISO 8601, UTC. */
  attemptedAtUtc: string;
  /** HTTP status; 503 for network errors and timeouts. */
  statusCode: number;
  errorSummary: string | null;
}

/**
 * What Herald tells the product about an endpoint's health, so that the product can tell the organization's admins.
 * It is published at least once: one that comes twice has the same id. Notices of an endpoint may come out of order.
 */
export interface Notice {
  /** UUID of the notice, version 7: those of later notices are greater. */
  id: string;
  type: NoticeType;
  /** ISO 8601, UTC. */
  occurredAtUtc: string;
  organizationId: string;
  /** As it was configured then. It may have been edited or deleted since. */
  endpoint: {
    /** UUID. */
    id: string;
    name: string;
    url: string;
  };
  /** In words, for a person. */
  reason: string;
  /** How many attempts in a row had failed. */
  consecutiveFailures: number;
  /** Those attempts, oldest first; without those whose history was erased before the notice was published. */
  attempts: NoticeAttempt[];
}

const utcDateTime = { type: "string", format: "date-time", pattern: "Z$" } as const;

/** JSON Schema of a notice. Fields may be added to it: consumers tolerate those that they don't know. */
export const noticeSchema = {
  $id: "https://herald.invalid/schemas/notice.json",
  type: "object",
  required: ["id", "type", "occurredAtUtc", "organizationId", "endpoint", "reason", "consecutiveFailures", "attempts"],
  properties: {
    id: { type: "string", format: "uuid" },
    type: { type: "string", enum: NOTICE_TYPES },
    occurredAtUtc: utcDateTime,
    organizationId: { type: "string", pattern: ORGANIZATION_ID_PATTERN },
    endpoint: {
      type: "object",
      required: ["id", "name", "url"],
      properties: {
        id: { type: "string", format: "uuid" },
        name: { type: "string", minLength: 1 },
        url: { type: "string", format: "uri", pattern: "^https:" },
      },
    },
    reason: { type: "string", minLength: 1 },
    consecutiveFailures: { type: "integer", minimum: 1 },
    attempts: {
      type: "array",
      items: {
        type: "object",
        required: ["deliveryId", "eventType", "number", "attemptedAtUtc", "statusCode", "errorSummary"],
        properties: {
          deliveryId: { type: "string", format: "uuid" },
          eventType: { type: "string", minLength: 1 },
          number: { type: "integer", minimum: 1 },
          attemptedAtUtc: utcDateTime,
          statusCode: { type: "integer", minimum: 100, maximum: 999 },
          errorSummary: { type: ["string", "null"] },
        },
      },
    },
  },
} as const;
