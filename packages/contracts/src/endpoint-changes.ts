import { type Static, Type } from "typebox";
import { ChangedBy, ChangeKind, EventType } from "./enums.ts";
import {
  count,
  cursor,
  flag,
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
import { version } from "./webhooks.ts";

// All of this is additive to SPEC.

export const ChangedSettings = object("The settings that a change touched; for a creation, all of them.", {
  name: Type.Optional(text("What people call the endpoint.")),
  url: Type.Optional(text("Absolute HTTPS URL of the receiver.")),
  enabled: Type.Optional(flag("The Active flag.")),
  events: Type.Optional(listOf(refTo({ EventType }), "Names of the events that are sent to it.")),
  headerNames: Type.Optional(
    listOf(text("A header's name."), "Names of the receiver's own headers; absent without any."),
  ),
  headerValues: Type.Optional(
    listOf(
      text("A header's name."),
      "Names of the own headers that got a value by this change. No value is ever kept here.",
    ),
  ),
});
export type ChangedSettings = Static<typeof ChangedSettings>;

export const ManualDelivery = object("A payload that an admin sent by hand.", {
  deliveryId: uuid("The delivery. It is erased with its endpoint, and this entry isn't."),
  eventType: refTo({ EventType }, "The event that it was sent as."),
});

export const EndpointChange = object("A change of an endpoint, or something that an admin sent to it.", {
  endpointId: uuid("The endpoint, which may have been deleted since."),
  endpointName: text("What it was called then.", { examples: ["Billing"] }),
  version: version("The endpoint's version that the change made; if it made none, the version at that time."),
  changedAtUtc: time("When it was made."),
  kind: refTo({ ChangeKind }, "What happened."),
  changedBy: refTo({ ChangedBy }, "Who made it."),
  name: orNull(
    text("The admin's name, as the token said it; null if it said none, and for the others.", {
      examples: ["Ana Lindqvist"],
    }),
  ),
  subject: orNull(text("The subject of the admin's token; null for the others.", { examples: ["user-1"] })),
  before: refOrNull({ ChangedSettings }, "As they were before; null for a creation, and if no setting was touched."),
  after: refOrNull({ ChangedSettings }, "As they were then; null for a deletion, and if no setting was touched."),
  secretReplaced: flag("Whether the signing secret was replaced. No secret is ever kept here."),
  resent: orNull(count("How many deliveries there were to send again; null if `kind` isn't `resent`.")),
  delivered: refOrNull({ ManualDelivery }, "What was sent; null if `kind` isn't `delivered`. No payload is kept here."),
});
export type EndpointChange = Static<typeof EndpointChange>;

export const EndpointChangePage = object("A part of the changes of an endpoint, or of all endpoints, newest first.", {
  changes: listOf(refTo({ EndpointChange }), "Those of the days for which deliveries are kept.", { maxItems: 100 }),
  nextCursor: orNull(cursor("Send it as `cursor` for the next part; null if there is none.")),
});
export type EndpointChangePage = Static<typeof EndpointChangePage>;

const part = partOf("Changes", { most: 100, usual: 50 });
export const EndpointChangeQuery = object("Query parameters of changes.", part);
export type EndpointChangeQuery = Query<typeof EndpointChangeQuery>;
