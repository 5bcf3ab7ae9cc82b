import {
  type BusinessEvent,
  businessEventSchema,
  type EventPayload,
  isEventType,
  MAX_EVENT_BYTES,
} from "@herald/contracts";
import { Ajv, type ErrorObject } from "ajv";
import addFormatsModule from "ajv-formats";
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
  /** A type that Herald does not deliver: fine, and nothing to do (SPEC 6). */
  | { kind: "ignored"; type: string }
  /** It breaks the contract; the reason says how, for whoever emitted it. */
  | { kind: "rejected"; reason: string };

// ajv-formats is CommonJS; under ESM its function is the default export's `default` for types and the import itself at run time.
const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default;

const ajv = new Ajv({ allErrors: false, strict: true, allowUnionTypes: true });
addFormats(ajv, ["uuid"]);
ajv.addFormat("utc-date-time", isUtcDateTime);
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
  if (!isStorable(value.organizationId)) {
    return rejected("/organizationId holds control characters or broken Unicode");
  }
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
  const head: Omit<EventPayload, "data"> = { id, type, occurredAtUtc, entityType, entityId };
  return `${JSON.stringify(head).slice(0, -1)},"data":${rawMember(text, "data")}}`;
}

const UTC_DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z$/;

/** ISO 8601 in UTC with a `Z`, of a day that exists, in a year that PostgreSQL and every receiver can hold. */
function isUtcDateTime(text: string): boolean {
  const parts = UTC_DATE_TIME.exec(text);
  if (!parts || Number(parts[1]) < 1) return false;
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.getUTCDate() === Number(parts[3]);
}

/** PostgreSQL's text can't hold U+0000, and UTF-8 no lone surrogate: two such names could become one. */
function isStorable(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point.
  return text.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(text);
}

/** Where the mistake is, if V8 says so; not its words, which quote the payload, and the reason is logged. */
function placeOf({ message }: Error): string {
  const position = /at position \d+/.exec(message)?.[0];
  return position === undefined ? "" : `: there is a mistake ${position}`;
}

function describe(error: ErrorObject | undefined): string {
  return `${error?.instancePath || "the event"} ${error?.message ?? "is not valid"}`;
}

function rejected(reason: string): Reading {
  return { kind: "rejected", reason };
}
