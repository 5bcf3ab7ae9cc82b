import { eventKey } from "@herald/common/database/ids";
import { type BusinessEvent, type Judgement, type JudgeOptions, judgeEvent } from "@herald/contracts";
import { rawMember } from "./raw-member.ts";

/** An event as it is stored: with the request body that every receiver will get. */
export interface IncomingEvent {
  organizationId: string;
  /** A function of organization, id and time: the same event has the same key. */
  key: string;
  id: string;
  type: string;
  entityId: string;
  occurredAt: Date;
  /** When it came. Its deliveries are made, and due, at this time, whoever stores them. */
  receivedAt: Date;
  body: string;
  traceparent: string | null;
}

/** What a message from the broker turned out to be. */
export type Reading = { kind: "event"; event: IncomingEvent } | Exclude<Judgement, { kind: "event" }>;

export interface ReadingOptions extends JudgeOptions {
  /** The emitter's trace context. */
  traceparent: string | null;
}

/** Reads a message of the events exchange. Pure; never throws, whatever the bytes. */
export function readEvent(content: Uint8Array, { traceparent, ...options }: ReadingOptions): Reading {
  const judgement = judgeEvent(content, options);
  if (judgement.kind !== "event") return judgement;
  const { event, text, occurredAt } = judgement;
  const { organizationId } = event;
  const id = event.id.toLowerCase();
  return {
    kind: "event",
    event: {
      organizationId,
      key: eventKey(organizationId, id, occurredAt),
      id,
      type: event.type,
      entityId: event.entityId.toLowerCase(),
      occurredAt,
      receivedAt: options.now,
      body: payloadText(text, event),
      traceparent,
    },
  };
}

/**
 * The body for receivers (SPEC 2.4): its fields, in SPEC's order, nothing else. `data` is carried over as the characters
 * that the emitter wrote, since reading and writing it again would change numbers that JavaScript can't hold.
 */
function payloadText(text: string, event: BusinessEvent): string {
  const { id, type, occurredAtUtc, entityType, entityId } = event;
  const head: Omit<BusinessEvent, "organizationId" | "data"> = { id, type, occurredAtUtc, entityType, entityId };
  return `${JSON.stringify(head).slice(0, -1)},"data":${rawMember(text, "data")}}`;
}
