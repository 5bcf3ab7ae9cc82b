import { type Static, Type } from "typebox";
import { ChangedBy, ChangeKind, EventType } from "./enums.ts";
import { count, flag, listOf, object, orNull, refOrNull, refTo, text, time } from "./json-schema.ts";
import { version } from "./webhooks.ts";

// All of this is additive to SPEC.

const changeCursor = (description: string) => text(description, { format: "change-cursor" });

export const ChangedSettings = object("The settings that a change touched; of a creation, all of them.", {
  name: Type.Optional(text("What people call the endpoint.")),
  url: Type.Optional(text("Absolute HTTPS URL of the receiver.")),
  enabled: Type.Optional(flag("The Active flag.")),
  events: Type.Optional(listOf(refTo({ EventType }), "Names of the events that are sent to it.")),
});
export type ChangedSettings = Static<typeof ChangedSettings>;

export const EndpointChange = object("A change of an endpoint's settings.", {
  version: version("The endpoint's version that the change made; of a resend, the version at that time."),
  changedAtUtc: time("When it was made."),
  kind: refTo({ ChangeKind }, "What happened."),
  changedBy: refTo({ ChangedBy }, "Who made it."),
  name: orNull(text("The admin's name, as the token said it; null where it said none, and for the others.")),
  subject: orNull(text("The subject of the admin's token; null for the others.")),
  before: refOrNull({ ChangedSettings }, "As they were before; null for a creation."),
  after: refTo({ ChangedSettings }),
  secretReplaced: flag("Whether the signing secret was replaced. No secret is ever kept here."),
  resent: orNull(count("How many deliveries there were to send again; null where `kind` isn't `resent`.")),
});
export type EndpointChange = Static<typeof EndpointChange>;

export const EndpointChangePage = object("A part of an endpoint's changes, newest first.", {
  changes: listOf(refTo({ EndpointChange }), "Those of the days for which deliveries are kept.", { maxItems: 100 }),
  nextCursor: orNull(changeCursor("Send it as `cursor` for the next part; null where there is none.")),
});
export type EndpointChangePage = Static<typeof EndpointChangePage>;

export const EndpointChangeQuery = object("Query parameters of an endpoint's changes.", {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50, description: "Changes to answer with." })),
  cursor: Type.Optional(changeCursor("`nextCursor` of the part before.")),
});
