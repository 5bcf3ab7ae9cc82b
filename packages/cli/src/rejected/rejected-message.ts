import { createHash } from "node:crypto";
import { carriedHeaders } from "@herald/common/broker/carried-headers";

/** An event that broke the contract, as the rejected queue holds it. */
export interface RejectedMessage {
  /** The same for the same content, however often the queue is read: quorum queues may change their order. */
  id: string;
  content: Buffer;
  headers: Readonly<Record<string, unknown>>;
  reason: string;
}

/** What can be read of a content that breaks the contract; null where it says nothing. */
export interface Facts {
  eventId: string | null;
  type: string | null;
  organizationId: string | null;
}

/** Headers that were added on the way into the rejected queue, by Herald and by the broker. */
const ADDED_HEADERS = /^(x-herald-reason|x-death|x-first-death-.*|x-last-death-.*|x-delivery-count|x-acquired-count)$/;

export function rejectedMessage(content: Buffer, headers: Record<string, unknown>): RejectedMessage {
  const id = createHash("sha256").update(content).digest("hex").slice(0, 12);
  return { id, content, headers, reason: reasonOf(headers) };
}

function reasonOf(headers: Record<string, unknown>): string {
  if (typeof headers["x-herald-reason"] === "string") return headers["x-herald-reason"];
  const death = headers["x-first-death-reason"];
  if (death === "delivery_limit") return "it came back to the inbox too often: each publisher that handled it ended";
  return typeof death === "string" ? `RabbitMQ moved it here: ${death}` : "none is given";
}

/** The headers that the product service set, as far as they may go along. */
export function originalHeaders({ headers }: RejectedMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(carriedHeaders(headers)).filter(([name]) => !ADDED_HEADERS.test(name)));
}

export function factsOf({ content }: RejectedMessage): Facts {
  const value = parse(content);
  const text = (name: string) => (typeof value[name] === "string" ? (value[name] as string) : null);
  return { eventId: text("id"), type: text("type"), organizationId: text("organizationId") };
}

function parse(content: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(content.toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
