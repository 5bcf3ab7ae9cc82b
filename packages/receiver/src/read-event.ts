import { EVENT_TYPES, type HeraldEvent } from "./events.ts";
import { isUuid } from "./payload.ts";

/**
 * A verified payload as an event whose `type` tells what it is, or null where it is none: a manual payload, or an event of
 * a type that is younger than this package. Fields that are not known are kept.
 *
 * ```ts
 * const event = readEvent(webhook.payload);
 * if (event?.type === "WorkItemCompleted") await complete(event.entityId);
 * ```
 */
export function readEvent(payload: unknown): HeraldEvent | null {
  return isEvent(payload) ? payload : null;
}

function isEvent(payload: unknown): payload is HeraldEvent {
  if (!isObject(payload)) return false;
  const { id, type, occurredAtUtc, entityType, entityId, data } = payload;
  return (
    isUuid(id) &&
    EVENT_TYPES.some((known) => known === type) &&
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
