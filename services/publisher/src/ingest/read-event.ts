import { eventKey } from "@herald/common/database/ids";
import {
  type BusinessEvent,
  isEventType,
  isUtcTime,
  isUuid,
  MAX_EVENT_BYTES,
  ORGANIZATION_ID_RULE,
} from "@herald/contracts";
import { businessEventSchema } from "@herald/contracts/schemas";
import { Ajv, type ErrorObject } from "ajv";
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
  body: string;
  traceparent: string | null;
}

/** What a message from the broker turned out to be. */
export type Reading =
  | { kind: "event"; event: IncomingEvent }
  /** An event of a type that Herald does not deliver: it breaks nothing, and there is nothing to do (SPEC 6). */
  | { kind: "ignored"; type: string }
  /** An event that is too old to be delivered to anybody. */
  | { kind: "stale" }
  /** It breaks the contract; the reason says how, for the product service that emitted it. */
  | { kind: "rejected"; reason: string };

/** By how much an emitter's clock may be ahead: its events stay in the window by so much longer. */
const MAX_AHEAD_MS = 60 * 60_000;

const ajv = new Ajv({ allErrors: false, strict: true, allowUnionTypes: true });
ajv.addFormat("uuid", isUuid);
ajv.addFormat("utc-date-time", isUtcTime);
const validate = ajv.compile<BusinessEvent>(businessEventSchema);

const utf8 = new TextDecoder("utf-8", { fatal: true });

export interface ReadingOptions {
  /** The emitter's trace context. */
  traceparent: string | null;
  now: Date;
  /** How far back events are delivered (SPEC 6.1: seven days), in milliseconds. */
  windowMs: number;
}

/** Reads a message of the events exchange. Pure; never throws, whatever the bytes. */
export function readEvent(content: Uint8Array, { traceparent, now, windowMs }: ReadingOptions): Reading {
  if (content.byteLength > MAX_EVENT_BYTES) {
    return rejected(`the body has ${content.byteLength} bytes; at most ${MAX_EVENT_BYTES} are allowed`);
  }
  let text: string;
  try {
    text = utf8.decode(content);
  } catch {
    return rejected("the body is not valid UTF-8");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return rejected(`the body is not valid JSON${placeOf(error as Error)}`);
  }
  const type = (value as { type?: unknown } | null)?.type;
  if (typeof type === "string" && type !== "" && !isEventType(type)) return { kind: "ignored", type };
  if (!validate(value)) return rejected(describe(validate.errors?.[0]));
  const { organizationId } = value;
  const id = value.id.toLowerCase();
  const occurredAt = new Date(value.occurredAtUtc);
  const aheadMs = occurredAt.getTime() - now.getTime();
  if (aheadMs > MAX_AHEAD_MS) {
    return rejected("/occurredAtUtc is more than an hour in the future; the clock of its emitter must be wrong");
  }
  if (aheadMs < -windowMs) return { kind: "stale" };
  return {
    kind: "event",
    event: {
      organizationId,
      key: eventKey(organizationId, id, occurredAt),
      id,
      type: value.type,
      entityId: value.entityId.toLowerCase(),
      occurredAt,
      body: payloadText(text, value),
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

/** Where the mistake is, if V8 says so. V8's words are left out: they quote the payload, and the reason is logged. */
function placeOf({ message }: Error): string {
  const position = /at position \d+/.exec(message)?.[0];
  return position === undefined ? "" : `: there is a mistake ${position}`;
}

/** The validator's words; for the organization the rule's own, since its regular expression tells a person little. */
function describe(error: ErrorObject | undefined): string {
  const path = error?.instancePath || "the event";
  return `${path} ${path === "/organizationId" ? ORGANIZATION_ID_RULE : (error?.message ?? "is not valid")}`;
}

function rejected(reason: string): Reading {
  return { kind: "rejected", reason };
}
