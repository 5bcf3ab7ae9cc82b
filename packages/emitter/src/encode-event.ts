import { createHash, randomUUID } from "node:crypto";
import { type BusinessEvent, type EventFault, type EventType, eventFaults, MAX_EVENT_BYTES } from "@herald/contracts";

export type EmittedEvent = BusinessEvent;

/** The fields of an event that its author has to give; `newEvent` can fill in the rest. */
export type NewEvent<Type extends string = EventType> = Pick<
  EmittedEvent,
  "organizationId" | "entityType" | "entityId"
> &
  Partial<Pick<EmittedEvent, "id" | "occurredAtUtc" | "data">> & { type: Type };

/**
 * An event that happens now, with an id of its own. Keep what it returns until `emit` has resolved: a second try must
 * have the same id and time.
 *
 * The compiler takes the types of Herald's default catalogue. For a catalogue of your own, name its types: `newEvent<EventType>(...)`. An event of any other type is emitted and not delivered: Herald says so in
 * its search, to its operator and by a notice.
 */
export function newEvent<Type extends string = EventType>(event: NewEvent<NoInfer<Type>>): EmittedEvent;
/** The same for an event of a type that Herald does not deliver, or not yet. */
export function newEvent(event: NewEvent<string>, options: { undelivered: true }): EmittedEvent;
export function newEvent({ id, occurredAtUtc, data, ...rest }: NewEvent<string>): EmittedEvent {
  return {
    ...rest,
    id: id ?? randomUUID(),
    occurredAtUtc: occurredAtUtc ?? new Date().toISOString(),
    data: data ?? {},
  };
}

export interface EventProblem {
  /** Where, as in `entityId` or `data.changes.Status.newValue`. */
  field: string;
  /** The rule that it breaks, in words. */
  message: string;
}

/** The event breaks Herald's contract: sending it again as it is cannot succeed. Nothing was sent. */
export class InvalidEventError extends Error {
  override readonly name = "InvalidEventError";
  readonly problems: readonly EventProblem[];

  constructor(problems: readonly EventProblem[]) {
    super(`the business event is not valid: ${problems.map(({ field, message }) => `${field} ${message}`).join("; ")}`);
    this.problems = problems;
  }
}

/** The message body of an event: the contract's fields, nothing else, in UTF-8. @throws InvalidEventError with everything that is wrong with it */
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
 * @throws InvalidEventError with everything that is wrong with it
 */
export function readEventJson(json: string): { event: EmittedEvent; body: Buffer } {
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
  // The only rule of an event's fields that comes from the broker and not from the contract.
  const type = (event as EmittedEvent | null)?.type;
  if (
    typeof type === "string" &&
    Buffer.byteLength(type) > MAX_TYPE_BYTES &&
    !problems.some(({ field }) => field === "type")
  ) {
    problems.push({ field: "type", message: `must be text of at most ${MAX_TYPE_BYTES} bytes` });
  }
  if (problems.length > 0) throw new InvalidEventError(problems);
}

function problemOf({ path, message }: EventFault): EventProblem {
  return { field: path.length === 0 ? "event" : path.join("."), message };
}

function checkedSize(body: Buffer, field: string): Buffer {
  if (body.byteLength <= MAX_EVENT_BYTES) return body;
  const message = `makes ${body.byteLength} bytes of JSON; an event has at most ${MAX_EVENT_BYTES}`;
  throw new InvalidEventError([{ field, message }]);
}

/** The longest routing key that AMQP allows. */
const MAX_BYTES = 255;

/** The longest type that leaves room for the bucket: a dot and a digit, twice. */
export const MAX_TYPE_BYTES = MAX_BYTES - 4;

/** The bucket, by which Herald spreads organizations over its queues: the first hexadecimal digit of the SHA-256 of an organization's id. */
export function bucketOf(organizationId: string): string {
  return digitsOf(organizationId).charAt(0);
}

function digitsOf(organizationId: string): string {
  return createHash("sha256").update(organizationId, "utf8").digest("hex");
}

/**
 * The routing key of an event: its type, and the first two hexadecimal digits of the SHA-256 of its organization's id. The
 * first digit is the bucket: `RiskCreated.c.2` for `org-1`.
 *
 * Dots divide a routing key into words, so a type's dots become hyphens. Herald goes by the type in the body.
 */
export function routingKey({ type, organizationId }: Pick<EmittedEvent, "type" | "organizationId">): string {
  const [bucket, digit] = digitsOf(organizationId);
  return `${type.replaceAll(".", "-")}.${bucket}.${digit}`;
}
