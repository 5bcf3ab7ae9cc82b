import { isTime, isUtcTime, MAX_EVENT_BYTES } from "@herald/contracts";
import type { Message } from "./bundle.ts";
import { rawMember } from "./read-event.ts";

/** A message as it came from the broker. */
export interface Received extends Message {
  properties: { contentType?: unknown };
}

const ANY_FORMAT = /^application\/cloudevents/i;
const JSON_FORMAT = /^application\/cloudevents\+json\s*(;|$)/i;
const JSON_DATA = /^application\/([^;\s]+\+)?json\s*(;|$)/i;

const utf8 = new TextDecoder("utf-8", { fatal: true });

type Attributes = Readonly<Record<string, unknown>>;

/**
 * The event of a message in CloudEvents form (1.0, structured or binary mode of the AMQP binding) as Herald's envelope; any other message as it is.
 * Where it can't be mapped, `refused` says why, and the content has what could be read, for turns and searches. Pure; never throws.
 */
export function envelopeOf(message: Received): Message {
  const { contentType } = message.properties;
  if (typeof contentType === "string" && ANY_FORMAT.test(contentType)) return fromStructured(message, contentType);
  // The binding wants a colon, and an underscore where a program in between takes no colon.
  if (message.headers["cloudEvents:specversion"] !== undefined) return fromBinary(message, "cloudEvents:");
  if (message.headers.cloudEvents_specversion !== undefined) return fromBinary(message, "cloudEvents_");
  return message;
}

function fromStructured(message: Received, contentType: string): Message {
  if (!JSON_FORMAT.test(contentType)) {
    const fault = `a message of ${contentType} is not taken: send each CloudEvent by itself, as application/cloudevents+json`;
    return mapped(message, {}, { fault });
  }
  // What is too large is refused for that, without being read.
  if (message.content.byteLength > MAX_EVENT_BYTES) return message;
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(message.content);
    value = JSON.parse(text);
  } catch {
    // Judging it says where the mistake is, as with any text that is no JSON.
    return message;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return message;
  const attributes = value as Attributes;
  const fault = Object.hasOwn(attributes, "data_base64")
    ? "the CloudEvent has data_base64: only data that is JSON is taken"
    : typeFault(attributes.datacontenttype);
  return mapped(
    message,
    attributes,
    Object.hasOwn(attributes, "data") ? { fault, data: rawMember(text, "data") } : { fault },
  );
}

function fromBinary(message: Received, prefix: string): Message {
  if (message.content.byteLength > MAX_EVENT_BYTES) return message;
  const named = Object.entries(message.headers).filter(([name]) => name.startsWith(prefix));
  const attributes = Object.fromEntries(named.map(([name, value]) => [name.slice(prefix.length), value]));
  const fault = typeFault(message.properties.contentType);
  if (fault !== undefined) return mapped(message, attributes, { fault });
  try {
    const data = utf8.decode(message.content);
    JSON.parse(data);
    return mapped(message, attributes, { data });
  } catch {
    return mapped(message, attributes, { fault: "the CloudEvent's data is not valid JSON in UTF-8" });
  }
}

/** @param data as its emitter wrote it: reading and writing it again would change numbers that JavaScript can't hold */
function mapped(
  message: Received,
  attributes: Attributes,
  { fault, data }: { fault?: string | undefined; data?: string },
): Message {
  const text = (name: string) => (typeof attributes[name] === "string" ? attributes[name] : undefined);
  const subject = text("subject") ?? "";
  const slash = subject.lastIndexOf("/");
  // The organization first: turns read no further.
  const head = JSON.stringify({
    organizationId: text("organizationid"),
    id: text("id"),
    type: text("type"),
    occurredAtUtc: timeOf(attributes.time),
    ...(slash > 0 && { entityType: subject.slice(0, slash), entityId: subject.slice(slash + 1) }),
  });
  const end = data === undefined ? "}" : `${head === "{}" ? "" : ","}"data":${data}}`;
  const traceparent = text("traceparent");
  // Without the CloudEvent's own headers: what is sent on is an envelope, and would be read as a CloudEvent again.
  const others = Object.entries(message.headers).filter(([name]) => !/^cloudEvents[:_]/.test(name));
  const envelope = {
    content: Buffer.from(head.slice(0, -1) + end),
    headers: { ...(traceparent && { traceparent }), ...Object.fromEntries(others) },
  };
  const reason = fault ?? attributesFault(attributes, slash > 0);
  return reason === undefined ? envelope : { ...envelope, refused: { reason, original: message } };
}

function attributesFault(attributes: Attributes, hasEntity: boolean): string | undefined {
  if (attributes.specversion !== "1.0") return 'the CloudEvent\'s specversion must be "1.0"';
  const missing = ["organizationid", "id", "type"].find((name) => typeof attributes[name] !== "string");
  if (missing !== undefined) return `the CloudEvent's ${missing} must be there, and text`;
  if (timeOf(attributes.time) === undefined) return "the CloudEvent's time must be there, as RFC 3339 writes it";
  return hasEntity
    ? undefined
    : "the CloudEvent's subject must be there: the type of the entity, a slash, and its UUID";
}

function typeFault(contentType: unknown): string | undefined {
  if (contentType === undefined || contentType === null) return undefined;
  if (typeof contentType === "string" && JSON_DATA.test(contentType)) return undefined;
  return `the CloudEvent's data is ${typeof contentType === "string" ? contentType : "of no named type"}: only data that is JSON is taken`;
}

/**
 * The time in UTC: of a text with any offset, or of a number of milliseconds, as AMQP 1.0 has times and the SDK for Python sends them. The timestamps of
 * AMQP 0.9.1 are of whole seconds, and the time is a part of what an event is: they are not taken.
 */
function timeOf(value: unknown): string | undefined {
  if (isUtcTime(value)) return value;
  const date = new Date(typeof value === "number" || isTime(value) ? value : Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
