import { type Static, Type } from "typebox";
import { DeliveryListItem } from "./deliveries.ts";
import { EventType, NoDeliveryReason, UndeliveredCause } from "./enums.ts";
import {
  cursor,
  idPrefix,
  listOf,
  object,
  orNull,
  partOf,
  type Query,
  refOrNull,
  refTo,
  text,
  time,
  uuid,
} from "./json-schema.ts";

// All of this is additive to SPEC.

export const EndpointDelivery = object("A delivery at one endpoint, or why there is none.", {
  endpointId: uuid("The endpoint."),
  endpointName: text("What people call the endpoint.", { examples: ["Billing"] }),
  delivery: refOrNull({ DeliveryListItem }, "The delivery; null if the endpoint has none of this event."),
  reason: refOrNull({ NoDeliveryReason }, "Why it has none; null if it has one."),
});
export type EndpointDelivery = Static<typeof EndpointDelivery>;

const listItem = {
  key: uuid("The event's key in Herald, made of its organization, its id and its time."),
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
    "What became of it at each of the organization's endpoints, by name. Deleted endpoints are left out.",
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
  "An event that arrived and that Herald did not take: no endpoint gets it, and its data was not kept.",
  {
    id: uuid("The event, as the product service named it."),
    type: orNull(
      text("Its type, as the product service wrote it; null if it had none.", { examples: ["WorkItemCompletd"] }),
    ),
    cause: refTo({ UndeliveredCause }),
    reason: text("What was wrong with it, in words for the developers of its emitter."),
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
    "The manual delivery, if `deliveryId` names one: it belongs to no event. Else null.",
  ),
  undelivered: listOf(
    refTo({ UndeliveredEvent }),
    "Events that arrived in the time of this part and that Herald did not take, newest first: those of the last seven days. If very many " +
      "arrive in an hour, only the first ones are kept. None if the search has `entityId` or `deliveryId`: these are not kept.",
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
      "Only events whose id, or whose entity's id, begins with this. If very many do, Herald looks at a thousand of each.",
    ),
  ),
  type: Type.Optional(listOf(refTo({ EventType }), "Only events of these types; may be repeated.")),
  from: Type.Optional(text("Occurred at this time or later.", { format: "date-time" })),
  to: Type.Optional(text("Occurred before this time.", { format: "date-time" })),
  ...partOf("Events", { most: 20, usual: 10 }),
});
export type EventQuery = Query<typeof EventQuery>;
