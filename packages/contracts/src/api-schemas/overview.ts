import { attempt } from "./deliveries.ts";
import { count, eventType, flag, listOf, object, orNull, refOrNull, refTo, type Schema, time, uuid } from "./schema.ts";
import { endpoint } from "./webhooks.ts";

const overview = {
  ...endpoint,
  disabledReason: orNull({
    type: "string",
    enum: ["paused", "failures"],
    description: "`paused` by an admin, or disabled by Herald after `failures`; null while enabled.",
  }),
  disabledAtUtc: orNull(time("Since when it is disabled; null while enabled.")),
  createdAtUtc: time("When it was created."),
  updatedAtUtc: time("When its configuration last changed."),
  unfinished: object("Deliveries that are neither succeeded nor exhausted; each count stops at 10,000.", {
    pending: count("With an attempt due, now or later.", 10_000),
    parked: count("Set aside because the endpoint is disabled.", 10_000),
  }),
  lastDelivery: refOrNull("WebhookDeliverySummary", "The newest delivery; null before the first."),
  last24Hours: listOf(
    refTo("HourOfDeliveries"),
    "24 hours, oldest first, the last one still running. They count the 10,000 newest deliveries, of the organization in a " +
      "list and of the endpoint where it's read alone, so on busy days the earliest hours can be short.",
    { minItems: 24, maxItems: 24 },
  ),
};

export const overviewSchemas = {
  EndpointOverview: object("An endpoint, and how it fares.", overview),
  EndpointDetails: object("One endpoint in full.", {
    ...overview,
    failureRun: listOf(
      refTo("FailedAttempt"),
      "The failures since the last success, oldest first: where `disabledReason` is `failures`, the attempts that did it.",
    ),
    onResume: {
      ...object("What goes out when the endpoint is enabled again; null while it is enabled.", {
        parked: count("Deliveries set aside, counted to 10,000.", 10_000),
        missedEvents: count(
          "Events of the last seven days that came while it was disabled, counted to 10,000.",
          10_000,
        ),
        missedEventsIsMinimum: flag("There are more than was counted."),
      }),
      type: ["object", "null"],
    },
  }),
  HourOfDeliveries: object("The deliveries created within one hour, by what has become of them so far.", {
    startUtc: time("The hour's beginning."),
    succeeded: count("Delivered."),
    waiting: count("Without an attempt so far."),
    failing: count("Failed so far, and may be attempted again."),
    exhausted: count("Failed for good."),
  }),
  FailedAttempt: object("An attempt of the run of failures that an endpoint is in.", {
    deliveryId: uuid("The delivery."),
    attemptNumber: { ...count("Which of the delivery's attempts."), minimum: 1 },
    eventType,
    ...attempt,
  }),
} satisfies Record<string, Schema>;
