import { type Static, type TProperties, Type } from "typebox";
import { UndeliveredCause } from "./enums.ts";
import { count, httpStatus, listOf, object, oneOf, organizationId, orNull, text, time, uuid } from "./json-schema.ts";
import type { NoticeType } from "./vocabulary.ts";

const noticeAttempt = object("An attempt of the run of failures behind a notice.", {
  deliveryId: uuid("As in the delivery-id header."),
  eventType: text("The event's name.", { minLength: 1 }),
  number: count("Which attempt of its delivery it was: 1 to 5.", { minimum: 1 }),
  attemptedAtUtc: time("When it began."),
  statusCode: httpStatus("HTTP status; 503 for network errors and timeouts."),
  errorSummary: orNull(text("Why it failed.")),
});

const head = {
  id: uuid("The notice. UUIDs of version 7: those of later notices are greater."),
  occurredAtUtc: time("When it happened."),
  reason: text("In words, for a person.", { minLength: 1 }),
};

const about = {
  ...head,
  organizationId,
  endpoint: object("As it was configured then. It may have been edited or deleted since.", {
    id: uuid("The endpoint."),
    name: text("What people call the endpoint.", { minLength: 1 }),
    origin: text(
      "Scheme, host and port of the receiver's URL. The rest of the URL often holds a token; the API shows it to the organization's admins.",
      { format: "uri", pattern: "^https:" },
    ),
  }),
};

const run = {
  consecutiveFailures: count("How many attempts in a row had failed.", { minimum: 1 }),
  attempts: listOf(
    noticeAttempt,
    "Those attempts, oldest first; without those whose history was erased before the notice was published.",
  ),
};

const author = object("Who did it.", {
  changedBy: oneOf(
    ["admin", "operator"],
    "`admin`: on the page or by the API; `operator`: by a command on the servers.",
  ),
  name: orNull(text("The admin's name, as the token said it; null if it said none, and for an operator.")),
  subject: orNull(text("The subject of the admin's token; null for an operator.")),
});

function noticeOf<const Kind extends NoticeType, Properties extends TProperties>(
  type: Kind,
  description: string,
  properties: Properties,
) {
  return object(description, {
    type: Type.Literal(type, { description: "What the notice says; its routing key too." }),
    ...properties,
  });
}

const eventRejected = noticeOf(
  "event.rejected",
  "Herald did not take an event; each publisher reports an hour's first one of an organization, type and cause. The notice is for the developers of its emitter, and has nothing of the event's data. It comes at least once; a repetition may have another id.",
  {
    ...head,
    organizationId: orNull(text("The event's organization; null if that can't be read.", { minLength: 1 })),
    eventId: orNull(uuid("The event; null if that can't be read.")),
    eventType: orNull(
      text("The event's type, as its emitter wrote it; null if that can't be read.", {
        minLength: 1,
        maxLength: 128,
      }),
    ),
    cause: UndeliveredCause,
  },
);

/**
 * A notice of Herald to the product, which can pass it on to an organization's admins or to its own developers.
 * It is published at least once: a notice that comes twice has the same id. Notices of an endpoint may come out of order.
 * Fields and types may be added: consumers tolerate those that they don't know.
 */
export const noticeSchema = Type.Union(
  [
    noticeOf(
      "endpoint.failing",
      "So many attempts in a row failed that a person should look; Herald goes on sending. At most one an hour for an endpoint.",
      {
        ...about,
        ...run,
      },
    ),
    noticeOf("endpoint.disabled", "More failed, and Herald sends nothing until an admin resumes the endpoint.", {
      ...about,
      ...run,
    }),
    noticeOf("endpoint.recovered", "An endpoint with an earlier `endpoint.failing` has taken a delivery.", {
      ...about,
      ...run,
    }),
    noticeOf(
      "endpoint.exhausted",
      "Deliveries were given up after their last attempt. At most one an hour for an endpoint.",
      {
        ...about,
        deliveries: count("How many, since the last notice of this type.", { minimum: 1 }),
        firstAtUtc: time("When the last attempt of the first of them began."),
        lastAtUtc: time("When the last attempt of the last of them began."),
      },
    ),
    noticeOf(
      "endpoint.expired",
      "Deliveries were given up unfinished, since they had become too old to be kept: mostly of an endpoint that has been disabled for long. At most one a day for an endpoint.",
      {
        ...about,
        deliveries: count("How many, since the last notice of this type.", { minimum: 1 }),
        firstAtUtc: time("When the event of the oldest of them occurred, or it was made."),
        lastAtUtc: time("When the event of the newest of them occurred, or it was made."),
      },
    ),
    noticeOf("endpoint.resumed", "An endpoint that was paused or disabled is sent to again.", { ...about, author }),
    noticeOf(
      "endpoint.secret_replaced",
      "The signing secret was replaced; attempts that begin later use the new one.",
      {
        ...about,
        author,
      },
    ),
    noticeOf("endpoint.deleted", "The endpoint was deleted, with its history.", { ...about, author }),
    eventRejected,
  ],
  { $id: "urn:herald:schemas:notice" },
);

export type NoticeAttempt = Static<typeof noticeAttempt>;
export type Notice = Static<typeof noticeSchema>;
/** A notice about an event that broke the contract, for the developers of its emitter. */
export type RejectedEvent = Static<typeof eventRejected>;
