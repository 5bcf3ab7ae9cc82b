import type { EventData, EventPayload } from "./business-event.ts";
import { type Catalogue, DEFAULT_CATALOGUE, type EventType } from "./event-types.ts";

/**
 * A sample of the payload that receivers get for an event of this type. Its ids are mostly zeros, so that a reader sees that it is not real.
 *
 * @throws Error if the catalogue of event types does not have the type
 */
export function samplePayload<const Type extends string = EventType>(
  type: Type,
  catalogue: Catalogue = DEFAULT_CATALOGUE,
): EventPayload<Type> {
  const definition = catalogue[type];
  if (definition === undefined) throw new Error(`The catalogue has no ${type}.`);
  return {
    id: "00000000-0000-4000-8000-000000000001",
    type,
    occurredAtUtc: "2026-01-31T12:00:00.000Z",
    entityType: definition.entityType,
    entityId: "00000000-0000-4000-8000-000000000002",
    data: definition.sample as EventData,
  };
}
