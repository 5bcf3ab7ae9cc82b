import { randomUUID } from "node:crypto";
import type { BusinessEvent, EventType } from "@herald/contracts";

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
