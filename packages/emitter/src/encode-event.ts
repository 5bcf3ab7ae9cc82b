import { isOrganizationId, isUtcTime, isUuid, MAX_EVENT_BYTES, ORGANIZATION_ID_RULE } from "@herald/contracts";
import type { EmittedEvent } from "./emitted-event.ts";
import { type EventProblem, InvalidEventError } from "./errors.ts";
import { MAX_TYPE_BYTES } from "./routing-key.ts";

/**
 * The message body of an event: the contract's fields, nothing else, in UTF-8.
 *
 * @throws InvalidEventError with everything that is wrong with it
 */
export function encodeEvent(event: EmittedEvent): Buffer {
  const problems = problemsOf(event);
  if (problems.length > 0) throw new InvalidEventError(problems);
  const { organizationId, id, type, occurredAtUtc, entityType, entityId, data } = event;
  let body: Buffer;
  try {
    body = Buffer.from(JSON.stringify({ organizationId, id, type, occurredAtUtc, entityType, entityId, data }));
  } catch (error) {
    throw new InvalidEventError([{ field: "data", message: `can't be written as JSON: ${(error as Error).message}` }]);
  }
  if (body.byteLength > MAX_EVENT_BYTES) {
    const message = `makes ${body.byteLength} bytes of JSON; an event has at most ${MAX_EVENT_BYTES}`;
    throw new InvalidEventError([{ field: "data", message }]);
  }
  return body;
}

/** Everything for which Herald would reject the event. Callers in JavaScript have no type check, so each field is checked. */
function problemsOf(event: EmittedEvent): EventProblem[] {
  if (!isObject(event)) return [{ field: "event", message: "must be an object" }];
  const problems: EventProblem[] = [];
  const expect = (holds: boolean, field: string, message: string) => {
    if (!holds) problems.push({ field, message });
  };
  const { organizationId, id, type, occurredAtUtc, entityType, entityId, data } = event as Record<string, unknown>;
  expect(isOrganizationId(organizationId), "organizationId", ORGANIZATION_ID_RULE);
  expect(isUuid(id), "id", "must be a UUID");
  expect(
    isText(type) && Buffer.byteLength(type) <= MAX_TYPE_BYTES,
    "type",
    `must be text of 1 to 128 characters and at most ${MAX_TYPE_BYTES} bytes`,
  );
  expect(isUtcTime(occurredAtUtc), "occurredAtUtc", "must be an ISO 8601 time in UTC, as 2026-01-31T12:00:00.000Z");
  expect(isText(entityType), "entityType", "must be text of 1 to 128 characters");
  expect(isUuid(entityId), "entityId", "must be a UUID");
  expect(isObject(data), "data", "must be an object");
  if (isObject(data) && data.changes !== undefined) problems.push(...changeProblems(data.changes));
  return problems;
}

function changeProblems(changes: unknown): EventProblem[] {
  if (!isObject(changes)) return [{ field: "data.changes", message: "must be an object" }];
  return Object.entries(changes).flatMap(([name, change]) => {
    const field = `data.changes.${name}`;
    if (!isObject(change)) return [{ field, message: "must be {oldValue, newValue}" }];
    return ["oldValue", "newValue"]
      .filter((side) => change[side] !== null && typeof change[side] !== "string")
      .map((side) => ({
        field: `${field}.${side}`,
        message: "must be text or null, also where the value is a number",
      }));
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** 1 to 128 characters, counted as JSON Schema counts them. */
function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && (value.length <= 128 || [...value].length <= 128);
}
