import { type Static, Type } from "typebox";
import { DeliveryListItem } from "./deliveries.ts";
import { EventType, NoDeliveryReason, UndeliveredCause } from "./enums.ts";
import { cursor, idPrefix, listOf, object, orNull, refOrNull, refTo, text, time, uuid } from "./json-schema.ts";

// All of this is additive to SPEC.

export const EndpointDelivery = object("A delivery at one endpoint, or why there is none.", {
  endpointId: uuid("The endpoint."),
  endpointName: text("What people call the endpoint.", { examples: ["Billing"] }),
  delivery: refOrNull({ DeliveryListItem }, "The delivery; null if the endpoint has none of this event."),
  reason: refOrNull({ NoDeliveryReason }, "Why it has none; null if it has one."),
});
export type EndpointDelivery = Static<typeof EndpointDelivery>;

const listItem = {
  key: uuid("What the event is stored under: made of its organization, its id and its time."),
  id: uuid("The event, as the product service named it; receivers get it as `id`."),
  type: refTo({ EventType }, "The event's name."),
  occurredAtUtc: time("When it happened."),
  receivedAtUtc: time("When Herald stored it."),
  entityType: orNull(text("The kind of entity; null if it isn't known.", { examples: ["WorkItem"] })),
  entityId: uuid("The entity."),
  traceparent: orNull(
    text("The W3C trace context that it was emitted with; null if there was none.", {
      examples: ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
    }),
  ),
  endpoints: listOf(
    refTo({ EndpointDelivery }),
    "What became of it at each of the organization's endpoints, by name. Endpoints that were deleted aren't there.",
  ),
};

export const EventListItem = object("A business event, and what became of it at each endpoint.", listItem);
export type EventListItem = Static<typeof EventListItem>;

export const EventDetails = object("A business event with the body that receivers get.", {
  ...listItem,
  body: text("The request body, character for character."),
});
export type EventDetails = Static<typeof EventDetails>;

export const UndeliveredEvent = object(
  "An event that came, and that Herald did not take: nobody gets it, and its data was not kept.",
  {
    id: uuid("The event, as the product service named it."),
    type: orNull(
      text("Its type, as the product service wrote it; null if it had none.", { examples: ["WorkItemCompletd"] }),
    ),
    cause: refTo({ UndeliveredCause }),
    reason: text("What was wrong with it, in words for whoever emits."),
    cameAtUtc: time("When it came, for the first time with this cause."),
  },
);
export type UndeliveredEvent = Static<typeof UndeliveredEvent>;

export const EventPage = object("A part of the organization's events, newest first, or of what a search found.", {
  events: listOf(
    refTo({ EventListItem }),
    "May be fewer than asked for, and even none, while `nextCursor` says that there is more.",
    { maxItems: 20 },
  ),
  manualDelivery: refOrNull(
    { EndpointDelivery },
    "Where `deliveryId` is that of a manual delivery: the delivery, since it is of no event. Else null.",
  ),
  undelivered: listOf(
    refTo({ UndeliveredEvent }),
    "What came in the time of this part and was not taken, newest first: events of the last seven days. Of very many in an hour " +
      "the first ones are known. None if `entityId` or `deliveryId` is looked for: they are not known of it.",
    { maxItems: 100 },
  ),
  nextCursor: orNull(cursor("Send it as `cursor` for the next part; null if there is none.")),
});
export type EventPage = Static<typeof EventPage>;

export const EventQuery = object("Query parameters of the list of events. All of them have to fit.", {
  id: Type.Optional(uuid("The event's id.")),
  entityId: Type.Optional(uuid("The entity that events are about.")),
  deliveryId: Type.Optional(uuid("A delivery, of the event or by hand.")),
  idPrefix: Type.Optional(
    idPrefix(
      "Only events whose id, or whose entity's id, begins with this. Of very many, a thousand of each are looked at.",
    ),
  ),
  type: Type.Optional(listOf(refTo({ EventType }), "Only events of these types; may be repeated.")),
  from: Type.Optional(text("Occurred at this time or later.", { format: "date-time" })),
  to: Type.Optional(text("Occurred before this time.", { format: "date-time" })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 20, default: 10, description: "Events to answer with." })),
  cursor: Type.Optional(cursor("`nextCursor` of the part before.")),
});

export const eventSchemas = {
  EventListItem,
  EventPage,
  EventDetails,
  EventQuery,
  EndpointDelivery,
  UndeliveredEvent,
};
