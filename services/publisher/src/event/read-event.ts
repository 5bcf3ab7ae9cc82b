import type { IncomingMessage } from "@herald/common/broker/broker";
import { eventKey } from "@herald/common/database/ids";
import type { TraceSpan } from "@herald/common/telemetry/tracing";
import { type BusinessEvent, type Judgement, type JudgeOptions, judgeEvent, MAX_EVENT_BYTES } from "@herald/contracts";
import type { IncomingEvent } from "../sql/rows.ts";

/** An event, from its arrival until its message is settled. Of a large event only the bytes are kept until its batch runs. */
export interface InboxMessage {
  message: IncomingMessage;
  /** Whose turn it is, by {@link organizationOf}: the event is judged later. */
  organization: string;
  arrivedAt: Date;
  arrivedAtMs: number;
  /** The event, if it was read on arrival. */
  event?: IncomingEvent;
  /** Set if the event has more endpoints than a page: the endpoints up to this one have their deliveries. */
  afterEndpointId?: string;
  span?: TraceSpan | undefined;
  /** Ends the work on the event, and acknowledges its message. */
  done(): void;
  /** Ends it too, since the message is delivered again on another channel. */
  dropped(): void;
  /** The event can't be stored now: the consumer gets its message again after a pause. */
  failed(error: unknown): void;
}

export type Reading = { kind: "event"; event: IncomingEvent } | Exclude<Judgement, { kind: "event" }>;

/** Reads a message of the events exchange. Pure; never throws, whatever the bytes. */
export function readEvent(
  content: Uint8Array,
  { traceparent, ...options }: JudgeOptions & { traceparent: string | null },
): Reading {
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

/** The longest source text of an organization's id: 128 characters, each escaped as a surrogate pair. */
const MAX_RAW_LENGTH = 128 * 12 + 2;

/**
 * Reads the organization of a message before the message is judged. Reads no further than to the organization, which emitters write first. A message
 * without a readable organization is rejected or ignored later; all of these share the turns of "", which is no organization's id.
 */
export function organizationOf(content: Buffer): string {
  if (content.byteLength > MAX_EVENT_BYTES) return "";
  try {
    for (const { key, value } of rawMembers(content.toString())) {
      if (key === "organizationId") return readId(value);
    }
  } catch {
    // A name or the id is no JSON string.
  }
  return "";
}

function readId(raw: string): string {
  const id: unknown = raw.length > MAX_RAW_LENGTH ? "" : JSON.parse(raw);
  return typeof id === "string" ? id : "";
}

/** The source text of the value of an existing member, in valid JSON; of the last one if the name occurs twice, as JSON.parse does. */
export function rawMember(json: string, name: string): string {
  let found: string | undefined;
  for (const { key, value } of rawMembers(json)) if (key === name) found = value;
  if (found === undefined) throw new Error(`The JSON object has no member ${JSON.stringify(name)}.`);
  return found;
}

/**
 * The members of a JSON object in their order, each with the source text of its value. Ends on any text; if it is no JSON object, they mean nothing.
 * @throws SyntaxError if a name is no JSON string
 */
function* rawMembers(json: string): Generator<{ key: string; value: string }> {
  let at = skipSpace(json, json.indexOf("{") + 1);
  while (json[at] === '"') {
    const keyEnd = endOfString(json, at);
    const colon = json.indexOf(":", keyEnd);
    if (colon === -1) return;
    const start = skipSpace(json, colon + 1);
    const end = endOfValue(json, start);
    yield { key: JSON.parse(json.slice(at, keyEnd)), value: json.slice(start, end).trimEnd() };
    at = skipSpace(json, end + 1);
  }
}

function skipSpace(json: string, from: number): number {
  let at = from;
  while (json[at] === " " || json[at] === "\n" || json[at] === "\r" || json[at] === "\t") at++;
  return at;
}

/** The index behind the closing quote of the string that starts at `from`, or behind the text if none closes it. */
function endOfString(json: string, from: number): number {
  let at = json.indexOf('"', from + 1);
  while (at !== -1 && isEscaped(json, at)) at = json.indexOf('"', at + 1);
  return at === -1 ? json.length + 1 : at + 1;
}

function isEscaped(json: string, at: number): boolean {
  let first = at;
  while (json[first - 1] === "\\") first--;
  return (at - first) % 2 === 1;
}

/** The index of the comma or brace that ends the value which starts at `from`; the end of the text if there is none. */
function endOfValue(json: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < json.length) {
    const character = json[at];
    if (character === '"') {
      at = endOfString(json, at);
      continue;
    }
    if (depth === 0 && (character === "," || character === "}")) return at;
    if (character === "{" || character === "[") depth++;
    else if (character === "}" || character === "]") depth--;
    at++;
  }
  return at;
}
