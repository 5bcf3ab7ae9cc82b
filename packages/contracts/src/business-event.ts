import { type Static, Type } from "typebox";
import { EventType as eventType } from "./enums.ts";
import type { EventType } from "./event-types.ts";
import { object, organizationId, text } from "./json-schema.ts";

const value = (description: string) => Type.Unsafe<string | null>({ type: ["string", "null"], description });

const fieldChange = object("One changed field of the entity. Text or null, also for values that look numeric.", {
  oldValue: value("Before."),
  newValue: value("After."),
});

const data = object("Event-specific details; not a snapshot of the entity.", {
  changes: Type.Optional(
    Type.Unsafe<Record<string, FieldChange>>({
      type: "object",
      description: "The changed fields by their names; may be empty.",
      additionalProperties: fieldChange,
    }),
  ),
});

// Validators may leave formats unchecked, and read them differently: so a pattern stands beside each. The patterns use only
// what the regular expressions of all languages have in common.

const uuid = (description: string) =>
  text(description, { format: "uuid", pattern: "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$" });

const TIME = "[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?";
const OFFSET = "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";

/** `isTime`: the format adds that the day exists. */
const time = (description: string, zone: string) =>
  text(description, { format: "date-time", pattern: `^${TIME}${zone}$`, not: { pattern: "^0000" } });

/** An event as a product service publishes it (SPEC 2.4): the fields that receivers get, and its organization. Fields beyond these are tolerated. */
export const businessEventSchema = Type.Object(
  {
    organizationId,
    id: uuid("The business event, not the delivery."),
    // Any text, not only the events that Herald delivers: another name is counted and ignored, and breaks no contract.
    type: Type.Unsafe<EventType | (string & {})>(
      text("The event's name. Names that Herald does not deliver are counted and ignored.", {
        minLength: 1,
        maxLength: 128,
      }),
    ),
    occurredAtUtc: time(
      "When the event happened, not when it is sent: ISO 8601 with `Z` or an offset; receivers get it with `Z`. Part of what an event is: with organization and id, it must stay the same when the event is sent again.",
      OFFSET,
    ),
    entityType: text("The kind of entity, e.g. `WorkItem`.", { minLength: 1, maxLength: 128 }),
    entityId: uuid("The entity."),
    data: Type.Unsafe<EventData>(data),
  },
  { $id: "urn:herald:schemas:business-event" },
);

export type FieldChange = Static<typeof fieldChange>;

/** Event-specific details, `changes` among them (SPEC 2.4). */
export type EventData = Static<typeof data> & { [detail: string]: unknown };

export type BusinessEvent = Static<typeof businessEventSchema>;

/** The body that receivers get for an automatic event (SPEC 2.4). It names no organization: the receiver knows its own by endpoint and secret. */
export type EventPayload<Type extends string = EventType> = Omit<BusinessEvent, "organizationId" | "type"> & {
  type: Type;
};

const {
  organizationId: _organizationId,
  id,
  type: _anyType,
  occurredAtUtc: _sent,
  ...fields
} = businessEventSchema.properties;

/** The same as a JSON Schema. Fields beyond these may be added. */
export const eventPayloadSchema = Type.Object(
  {
    id,
    type: eventType,
    occurredAtUtc: time("When the event happened, not when it was sent: ISO 8601 with `Z`.", "Z"),
    ...fields,
  },
  { $id: "urn:herald:schemas:event-payload" },
);
