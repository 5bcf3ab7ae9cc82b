import { type EventFault, eventFaults, MAX_EVENT_BYTES } from "@herald/contracts";
import type { EmittedEvent } from "./emitted-event.ts";
import { type EventProblem, InvalidEventError } from "./errors.ts";
import { MAX_TYPE_BYTES } from "./routing-key.ts";

/** An event as it is sent: its message body, and what of it the message's other parts need. */
export interface EncodedEvent {
  body: Buffer;
  event: EmittedEvent;
}

/**
 * The message body of an event: the contract's fields, nothing else, in UTF-8.
 *
 * @throws InvalidEventError with everything that is wrong with it
 */
export function encodeEvent(event: EmittedEvent): Buffer {
  check(event);
  const { organizationId, id, type, occurredAtUtc, entityType, entityId, data } = event;
  let text: string;
  try {
    text = JSON.stringify({ organizationId, id, type, occurredAtUtc, entityType, entityId, data });
  } catch (error) {
    throw new InvalidEventError([{ field: "data", message: `can't be written as JSON: ${(error as Error).message}` }]);
  }
  return checkedSize(Buffer.from(text), "data");
}

/**
 * The JSON of an event, for the column `event` of an outbox that the service fills with a library of its own.
 *
 * @throws InvalidEventError with everything that is wrong with it
 */
export function eventJson(event: EmittedEvent): string {
  return encodeEvent(event).toString();
}

/**
 * Takes an event that is JSON already. Its text is the body as it is: numbers that JavaScript can't hold stay what they are.
 *
 * @throws InvalidEventError with everything that is wrong with it
 */
export function readEventJson(json: string): EncodedEvent {
  let event: unknown;
  try {
    event = JSON.parse(json);
  } catch {
    throw new InvalidEventError([{ field: "event", message: "must be JSON" }]);
  }
  check(event);
  return { event, body: checkedSize(Buffer.from(json), "event") };
}

function check(event: unknown): asserts event is EmittedEvent {
  const problems = eventFaults(event).map(problemOf);
  // The one rule of an event's fields that is the broker's, and not the contract's.
  const type = (event as EmittedEvent | null)?.type;
  if (typeof type === "string" && Buffer.byteLength(type) > MAX_TYPE_BYTES && !problems.some(isAboutType)) {
    problems.push({ field: "type", message: `must be text of at most ${MAX_TYPE_BYTES} bytes` });
  }
  if (problems.length > 0) throw new InvalidEventError(problems);
}

function problemOf({ path, message }: EventFault): EventProblem {
  return { field: path.length === 0 ? "event" : path.join("."), message };
}

function isAboutType({ field }: EventProblem): boolean {
  return field === "type";
}

function checkedSize(body: Buffer, field: string): Buffer {
  if (body.byteLength <= MAX_EVENT_BYTES) return body;
  const message = `makes ${body.byteLength} bytes of JSON; an event has at most ${MAX_EVENT_BYTES}`;
  throw new InvalidEventError([{ field, message }]);
}
