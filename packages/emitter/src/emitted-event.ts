import { randomUUID } from "node:crypto";
import type { BusinessEvent } from "@herald/contracts";

/**
 * A business event as a product service emits it. Types that Herald does not deliver may be emitted too: Herald counts
 * and ignores them, so that a service can emit all that happens and leave the choice to Herald.
 */
export type EmittedEvent = BusinessEvent;

/** What an event's author has to say; the rest can be made up. */
export type NewEvent = Pick<EmittedEvent, "organizationId" | "type" | "entityType" | "entityId"> &
  Partial<Pick<EmittedEvent, "id" | "occurredAtUtc" | "data">>;

/**
 * An event that happens now, with an id of its own. Keep what it returns until `emit` has resolved: a second try must
 * have the same id and time.
 */
export function newEvent({ id, occurredAtUtc, data, ...rest }: NewEvent): EmittedEvent {
  return {
    ...rest,
    id: id ?? randomUUID(),
    occurredAtUtc: occurredAtUtc ?? new Date().toISOString(),
    data: data ?? {},
  };
}
