import { EVENT_TYPES, type HeraldEvent } from "./events.ts";

/**
 * A verified payload as an event, by its `type`, or null if it is none: a manual payload, or an event of
 * a type that is not known here. Fields that are not known are kept.
 *
 * It knows Herald's default catalogue. For a catalogue of your own, give it the names and the type of its events:
 * `readEvent<HeraldEvent>(webhook.payload, EVENT_TYPES)`. What the type says of `data` is Herald's word, which checked it.
 *
 * ```ts
 * const event = readEvent(webhook.payload);
 * if (event?.type === "WorkItemCompleted") await complete(event.entityId);
 * ```
 */
export function readEvent(payload: unknown): HeraldEvent | null;
export function readEvent<Event extends { type: string }>(
  payload: unknown,
  types: readonly Event["type"][],
): Event | null;
export function readEvent(payload: unknown, types: readonly string[] = EVENT_TYPES): unknown {
  return isEvent(payload, types) ? payload : null;
}

function isEvent(payload: unknown, types: readonly string[]): boolean {
  if (!isObject(payload)) return false;
  const { id, type, occurredAtUtc, entityType, entityId, data } = payload;
  return (
    isUuid(id) &&
    types.some((known) => known === type) &&
    typeof occurredAtUtc === "string" &&
    typeof entityType === "string" &&
    isUuid(entityId) &&
    isObject(data) &&
    (data.changes === undefined || (isObject(data.changes) && Object.values(data.changes).every(isChange)))
  );
}

function isChange(value: unknown): boolean {
  return isObject(value) && isTextOrNull(value.oldValue) && isTextOrNull(value.newValue);
}

function isTextOrNull(value: unknown): boolean {
  return typeof value === "string" || value === null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The fields of a verified body; none if it is not JSON, since manual payloads may hold anything. */
export function readPayload(body: Uint8Array): { event: string | null; eventId: string | null; payload: unknown } {
  const payload = parse(body);
  const fields = typeof payload === "object" && payload !== null ? (payload as { type?: unknown; id?: unknown }) : {};
  return {
    event: typeof fields.type === "string" ? fields.type : null,
    eventId: isUuid(fields.id) ? fields.id.toLowerCase() : null,
    payload,
  };
}

function isUuid(value: unknown): value is string {
  return typeof value === "string" && uuid.test(value);
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(body));
  } catch {
    return undefined;
  }
}
