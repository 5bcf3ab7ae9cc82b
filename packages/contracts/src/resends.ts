import type { Static } from "typebox";
import { historyFilter } from "./deliveries.ts";
import { EventType, ResendState, ResendStopReason } from "./enums.ts";
import {
  closedObject,
  count,
  cursor,
  httpStatus,
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

export const ResendPreviewQuery = object("Which deliveries to look at.", historyFilter);

export const ResendPreview = object(
  "What the receiver never got: deliveries that were given up after their last attempt and have not been sent again since, of " +
    "events that the endpoint is subscribed to.",
  {
    deliveries: count("How many. A resend takes at most the newest 10,000."),
    bytes: count("How long their bodies are together, in bytes."),
    oldestAtUtc: orNull(time("When the oldest of them came to be; null if there is none.")),
    newestAtUtc: orNull(time("When the newest of them came to be; null if there is none.")),
    lookedBackToUtc: orNull(
      time("Older deliveries were not looked at, since there are too many: use this as `to` for them; null otherwise."),
    ),
  },
);
export type ResendPreview = Static<typeof ResendPreview>;

export const StartResendRequest = closedObject("Which deliveries to send again; all if it is empty.", historyFilter, {
  examples: [{}],
});
export type StartResendRequest = Static<typeof StartResendRequest>;

export const ResendFilter = object("The filter that a resend was started with.", {
  eventType: listOf(refTo({ EventType }), "Only these events; all if it is empty."),
  statusCode: listOf(httpStatus("An HTTP status."), "Only these statuses; all if it is empty."),
  from: orNull(time("Only deliveries created at this time or later; null for no limit.")),
  to: orNull(time("Only deliveries created before this time; null for no limit.")),
});

export const Resend = object("Deliveries that are sent again, each as a new manual delivery with the same body.", {
  id: uuid("The resend."),
  state: refTo({ ResendState }, "How it stands."),
  stopReason: refOrNull({ ResendStopReason }, "Why it was stopped; null if it wasn't."),
  startedAtUtc: time("When it was started."),
  startedBy: orNull(text("Who started it: a name, or the subject of a token without one; null if it has neither.")),
  endedAtUtc: orNull(time("When it finished or was stopped; null while it runs.")),
  stoppedBy: orNull(text("Who stopped it; null if no admin did.")),
  filter: refTo({ ResendFilter }, "The filter that it was started with."),
  total: count("How many there were to send again when it started."),
  bytes: count("How long their bodies were together, in bytes."),
  sent: count("New deliveries made so far."),
  succeeded: count("How many of the sent ones the receiver has taken."),
  failed: count("How many of the sent ones were given up as well: exhausted or expired."),
  unfinished: count("How many of the sent ones have not ended."),
});
export type Resend = Static<typeof Resend>;

export const ResendPage = object("A part of an endpoint's resends, newest first.", {
  resends: listOf(refTo({ Resend }), "Those of the days for which deliveries are kept.", { maxItems: 20 }),
  nextCursor: orNull(cursor("Send it as `cursor` for the next part; null if there is none.")),
});
export type ResendPage = Static<typeof ResendPage>;

const part = partOf("Resends", { most: 20, usual: 10 });
export const ResendQuery = object("Query parameters of an endpoint's resends.", part);
export type ResendQuery = Query<typeof ResendQuery>;
