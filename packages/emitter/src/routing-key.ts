import { createHash } from "node:crypto";
import type { EmittedEvent } from "./emitted-event.ts";

/** What AMQP allows for a routing key. */
const MAX_BYTES = 255;

/** The longest type that leaves room for the bucket: a dot and a digit, twice. */
export const MAX_TYPE_BYTES = MAX_BYTES - 4;

/** By which Herald spreads organizations over its queues: the first hexadecimal digit of the SHA-256 of an organization's id. */
export function bucketOf(organizationId: string): string {
  return digitsOf(organizationId).charAt(0);
}

function digitsOf(organizationId: string): string {
  return createHash("sha256").update(organizationId, "utf8").digest("hex");
}

/**
 * The routing key of an event: its type, and the first two hexadecimal digits of the SHA-256 of its organization's id, of
 * which the first one is its bucket: `RiskCreated.c.2` for `org-1`.
 *
 * Dots divide a routing key into words, so those of a type become hyphens. Herald goes by the type in the body.
 */
export function routingKey({ type, organizationId }: Pick<EmittedEvent, "type" | "organizationId">): string {
  const [bucket, digit] = digitsOf(organizationId);
  return `${type.replaceAll(".", "-")}.${bucket}.${digit}`;
}
