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
  id: string;
  type: string;
  occurredAt: Date;
  body: string;
  traceparent: string | null;
}

/** What a message from the broker turned out to be. */
export type Reading =
  | { kind: "event"; event: IncomingEvent }
  /** An event of a type that Herald does not deliver: it breaks nothing, and there is nothing to do (SPEC 6). */
  | { kind: "ignored"; type: string }
  /** It breaks the contract; the reason says how, for the product service that emitted it. */
  | { kind: "rejected"; reason: string };

const ajv = new Ajv({ allErrors: false, strict: true, allowUnionTypes: true });
ajv.addFormat("uuid", isUuid);
ajv.addFormat("utc-date-time", isUtcTime);
const validate = ajv.compile<BusinessEvent>(businessEventSchema);

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads a message of the events exchange. Pure; never throws, whatever the bytes. */
export function readEvent(content: Uint8Array, traceparent: string | null): Reading {
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
  return {
    kind: "event",
    event: {
      organizationId: value.organizationId,
      id: value.id.toLowerCase(),
      type: value.type,
      occurredAt: new Date(value.occurredAtUtc),
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
