import { type Static, Type } from "typebox";
import { count, httpStatus, listOf, object, oneOf, organizationId, orNull, text, time, uuid } from "./json-schema.ts";
import { NOTICE_TYPES } from "./vocabulary.ts";

const noticeAttempt = object("An attempt of the run of failures behind a notice.", {
  deliveryId: uuid("As in the delivery-id header."),
  eventType: text("The event's name.", { minLength: 1 }),
  number: count("Which attempt of its delivery it was: 1 to 5.", { minimum: 1 }),
  attemptedAtUtc: time("When it began."),
  statusCode: httpStatus("HTTP status; 503 for network errors and timeouts."),
  errorSummary: orNull(text("Why it failed.")),
});

/**
 * What Herald tells the product about an endpoint's health, so that the product can tell the organization's admins.
 * It is published at least once: one that comes twice has the same id. Notices of an endpoint may come out of order.
 * Fields may be added: consumers tolerate those that they don't know.
 */
export const noticeSchema = Type.Object(
  {
    id: uuid("The notice. UUIDs of version 7: those of later notices are greater."),
    type: oneOf(NOTICE_TYPES, "What the notice says; its routing key too."),
    occurredAtUtc: time("When it happened."),
    organizationId,
    endpoint: object("As it was configured then. It may have been edited or deleted since.", {
      id: uuid("The endpoint."),
      name: text("What people call the endpoint.", { minLength: 1 }),
      url: text("The receiver's URL.", { format: "uri", pattern: "^https:" }),
    }),
    reason: text("In words, for a person.", { minLength: 1 }),
    consecutiveFailures: count("How many attempts in a row had failed.", { minimum: 1 }),
    attempts: listOf(
      noticeAttempt,
      "Those attempts, oldest first; without those whose history was erased before the notice was published.",
    ),
  },
  { $id: "https://herald.invalid/schemas/notice.json" },
);

export type NoticeAttempt = Static<typeof noticeAttempt>;
export type Notice = Static<typeof noticeSchema>;
