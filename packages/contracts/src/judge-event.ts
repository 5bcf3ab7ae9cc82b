import type { BusinessEvent } from "./business-event.ts";
import { isEventType } from "./event-types.ts";
import { isOrganizationId, isTime, isUuid, MAX_EVENT_BYTES, ORGANIZATION_ID_RULE, toUtcTime } from "./rules.ts";

// Decides what Herald does with an event, in one place: by publishers as it arrives, and by emitters before
// it leaves. It loads nothing, so that it also runs where TypeBox's modules can't be loaded. A test holds it
// against `businessEventSchema`.

export interface EventFault {
  /** The path of the faulty value, as in `["data", "changes", "Status", "newValue"]`; empty for the event itself. */
  path: readonly string[];
  message: string;
}

/** Herald's decision about a message of the events exchange. */
export type Judgement =
  | {
      kind: "event";
      /** Its time is in UTC. */
      event: BusinessEvent;
      /** The event as its emitter wrote it. */
      text: string;
      occurredAt: Date;
    }
  /** The event has a type that Herald does not deliver. It keeps the contract, and there is nothing to do (SPEC 6). */
  | { kind: "ignored"; type: string }
  | { kind: "stale" }
  /** The event breaks the contract; the reason says how, for the product service that emitted it. */
  | {
      kind: "rejected";
      reason: string;
      /** Its time is what is wrong. */
      isInFuture?: true;
    };

/** The rules of a Herald's catalogue for an event's type and its data. */
export interface EventTypeRules {
  knows(type: string): boolean;
  /** The fault in the data of an event of a known type; undefined if there is none. */
  dataFault(type: string, data: unknown): EventFault | undefined;
}

const defaultRules: EventTypeRules = { knows: isEventType, dataFault: () => undefined };

export interface JudgeOptions {
  now: Date;
  /** How far another clock is ahead of `now`, in milliseconds: an event is in the future only by both. */
  aheadMs?: number;
  /** How far back events are delivered (SPEC 6.1: seven days), in milliseconds. */
  windowMs: number;
  /** The types of the default catalogue if absent. */
  eventTypes?: EventTypeRules;
}

/** How far an emitter's clock may be ahead. Its events then stay in the window that much longer. */
const MAX_AHEAD_MS = 60 * 60_000;

const MAX_CHARACTERS = 128;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Judges a message as publishers do. Pure; never throws, whatever the bytes. */
export function judgeEvent(
  content: Uint8Array,
  { now, aheadMs = 0, windowMs, eventTypes = defaultRules }: JudgeOptions,
): Judgement {
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
  if (typeof type === "string" && type !== "" && !eventTypes.knows(type)) return { kind: "ignored", type };
  const event = value as BusinessEvent;
  const fault = eventFaults(value)[0] ?? eventTypes.dataFault(event.type, event.data);
  if (fault) return rejected(inWords(fault));
  const occurredAt = new Date(event.occurredAtUtc);
  const futureMs = occurredAt.getTime() - now.getTime();
  if (futureMs - Math.max(0, aheadMs) > MAX_AHEAD_MS) {
    const reason = "/occurredAtUtc is more than an hour in the future; the clock of its emitter must be wrong";
    return { kind: "rejected", reason, isInFuture: true };
  }
  if (futureMs < -windowMs) return { kind: "stale" };
  return { kind: "event", event: { ...event, occurredAtUtc: toUtcTime(event.occurredAtUtc) }, text, occurredAt };
}

/** Everything for which the fields of an event are rejected, whatever its type; nothing of its time or its size. Pure. */
export function eventFaults(event: unknown): EventFault[] {
  if (!isObject(event)) return [{ path: [], message: "must be an object" }];
  const { organizationId, id, type, occurredAtUtc, entityType, entityId, data } = event;
  const faults: EventFault[] = [];
  const expect = (holds: boolean, name: string, message: string) => {
    if (!holds) faults.push({ path: [name], message });
  };
  expect(isOrganizationId(organizationId), "organizationId", ORGANIZATION_ID_RULE);
  expect(isUuid(id), "id", "must be a UUID");
  expect(isText(type), "type", `must be text of 1 to ${MAX_CHARACTERS} characters`);
  expect(isTime(occurredAtUtc), "occurredAtUtc", "must be a time with Z or an offset, as 2026-01-31T12:00:00.000Z");
  expect(isText(entityType), "entityType", `must be text of 1 to ${MAX_CHARACTERS} characters`);
  expect(isUuid(entityId), "entityId", "must be a UUID");
  expect(isObject(data), "data", "must be an object");
  if (isObject(data) && data.changes !== undefined) addChangeFaults(data.changes, faults);
  return faults;
}

function addChangeFaults(changes: unknown, faults: EventFault[]): void {
  if (!isObject(changes)) {
    faults.push({ path: ["data", "changes"], message: "must be an object" });
    return;
  }
  for (const [name, change] of Object.entries(changes)) {
    const path = ["data", "changes", name];
    if (!isObject(change)) {
      faults.push({ path, message: "must be {oldValue, newValue}" });
      continue;
    }
    for (const side of ["oldValue", "newValue"]) {
      const value = change[side];
      if (value !== null && typeof value !== "string") {
        faults.push({ path: [...path, side], message: "must be text or null, also where the value is a number" });
      }
    }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Counts characters as JSON Schema does. */
function isText(value: unknown): value is string {
  if (typeof value !== "string" || value === "") return false;
  return value.length <= MAX_CHARACTERS || [...value].length <= MAX_CHARACTERS;
}

function inWords({ path, message }: EventFault): string {
  return `${path.length === 0 ? "the event" : path.map((name) => `/${name}`).join("")} ${message}`;
}

/** Where the mistake is, if V8 says so. V8's words are left out: they quote the payload, and the reason is logged. */
function placeOf({ message }: Error): string {
  const position = /at position \d+/.exec(message)?.[0];
  return position === undefined ? "" : `: there is a mistake ${position}`;
}

function rejected(reason: string): Judgement {
  return { kind: "rejected", reason };
}
