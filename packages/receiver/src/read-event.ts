import { EVENT_TYPES, type HeraldEvent } from "./events.ts";
import { isUuid } from "./payload.ts";

/**
 * A verified payload as an event whose `type` tells what it is, or null where it is none: a manual payload, or an event of
 * a type that is not known here. Fields that are not known are kept.
 *
 * It knows Herald's default catalogue. Of a catalogue of one's own, give it the names and the type that `herald events types` prints:
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
