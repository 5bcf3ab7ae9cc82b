import type { Static, TObject } from "typebox";
import { EventType } from "./enums.ts";
import { count, flag, listOf, object, orNull, refTo, text, time } from "./json-schema.ts";

const apiLimits = {
  nameCharacters: count("Longest name of an endpoint."),
  urlCharacters: count("Longest URL of an endpoint."),
  payloadBytes: count("Largest payload of a manual delivery."),
  endpoints: count("Endpoints that the organization may have."),
};

/** Sizes and counts that the management API refuses to go beyond: characters are Unicode code points, bytes are UTF-8's. */
export type ApiLimits = Static<TObject<typeof apiLimits>>;

export const ServiceLimits = object("Sizes, counts and times of this service.", {
  ...apiLimits,
  maxAttempts: count("Attempts that a delivery gets."),
  disableAfterFailures: count("Failures in a row that disable an endpoint."),
  attemptTimeoutMs: count("How long one attempt may take."),
  retentionDays: count("How many days deliveries are kept; those that are unfinished then expire."),
});

/** The page reads this before it shows anything. Additive to SPEC. */
export const SessionInfo = object("Who calls, what they may do, and what this service allows.", {
  subject: text("The token's subject.", { examples: ["user-1"] }),
  name: orNull(text("The person's name; null if the token has none.", { examples: ["Ana Lindqvist"] })),
  organizationId: orNull(
    text("The organization that the token is for; null if it names none.", { examples: ["organization-1"] }),
  ),
  mayView: flag("May read."),
  mayManage: flag("May create, edit and deliver."),
  mayDelete: flag("May delete, which needs no entitlement."),
  missing: listOf(text("What, in words."), "What the caller lacks for managing; empty if nothing."),
  expiresAtUtc: time("When the token ends."),
  limits: refTo({ ServiceLimits }),
  headerPrefix: text("First part of the names of the headers that receivers get."),
});
export type SessionInfo = Static<typeof SessionInfo>;

export const EventTypeInfo = object("One of the events that an endpoint can subscribe to.", {
  name: refTo({ EventType }, "Its exact name."),
  entityType: text("The kind of entity that it is about."),
  emittedWhen: text("When it is emitted."),
  remark: orNull(text("A remark for admins, to read before they subscribe to it.")),
  sample: text("A payload such as receivers get, as JSON text."),
});
export type EventTypeInfo = Static<typeof EventTypeInfo>;

/** How the admin page looks like the product that it belongs to. The management API writes it into the page, by its settings. */
export interface PageProduct {
  /** The name that the page gives to the service that sends. */
  name: string;
  /** A colour as #1a73e8; null for the page's own. */
  accent: string | null;
  /** Whether `logo`, beside the page, is the product's. */
  hasLogo: boolean;
  /** Where a person signs out of the product; null if that is nowhere. */
  signOutUrl: string | null;
}
