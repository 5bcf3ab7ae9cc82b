import { createHash } from "node:crypto";
import type { EmittedEvent } from "./emitted-event.ts";

/** What AMQP allows for a routing key. */
const MAX_BYTES = 255;

/** The longest type that leaves room for the bucket: a dot and a digit, twice. */
export const MAX_TYPE_BYTES = MAX_BYTES - 4;

/**
 * The routing key of an event: its type, and the first two hexadecimal digits of the SHA-256 of its organization's id. By the
 * first digit, its bucket, Herald spreads organizations over its queues: `RiskCreated.c.2` for `org-1`.
 *
 * Dots divide a routing key into words, so those of a type become hyphens. Herald goes by the type in the body.
 */
export function routingKey({ type, organizationId }: Pick<EmittedEvent, "type" | "organizationId">): string {
  const [bucket, digit] = createHash("sha256").update(organizationId, "utf8").digest("hex");
  return `${type.replaceAll(".", "-")}.${bucket}.${digit}`;
}
