import type { Static } from "typebox";
import { attempt, WebhookDeliverySummary } from "./deliveries.ts";
import { DisabledReason, EventType } from "./enums.ts";
import { count, flag, listOf, object, orNull, refOrNull, refTo, text, time, uuid } from "./json-schema.ts";
import { MAX_HEADERS } from "./rules.ts";
import { endpoint } from "./webhooks.ts";

// All of this is additive to SPEC.

export const HourOfDeliveries = object(
  "The deliveries whose events occurred within one hour, by what has become of them so far.",
  {
    startUtc: time("The hour's beginning."),
    succeeded: count("Delivered."),
    retriedSucceeded: count("Those of `succeeded` that took more than one attempt."),
    waiting: count("Without an attempt so far."),
    failing: count("Failed so far, and attempted again."),
    parked: count("Unfinished, and the endpoint is disabled."),
    parkedFailing: count("Those of `parked` whose latest attempt failed."),
    exhausted: count("Failed for good."),
  },
);
export type HourOfDeliveries = Static<typeof HourOfDeliveries>;

const COUNTED = { maximum: 10_000 };
const MISSED = { maximum: 2_000 };

export const UnfinishedDeliveries = object(
  "Deliveries that have not ended; counting stops at 10,000, in a list at 100.",
  {
    waiting: count("Without an attempt so far.", COUNTED),
    failing: count("Failed so far, and attempted again.", COUNTED),
    parked: count("Unfinished, and the endpoint is disabled.", COUNTED),
  },
);

export const ResumePreview = object("What goes out when an endpoint is enabled again.", {
  parked: count("Parked deliveries, counted to 10,000.", COUNTED),
  missedEvents: count(
    "Events of the last seven days that came while it was disabled, of the organization's 2,000 newest.",
    MISSED,
  ),
  missedEventsIsMinimum: flag("The organization has more events, so there may be more than was counted."),
});

const overview = {
  ...endpoint,
  headerNames: listOf(text("A header's name."), "Names of the receiver's own headers. Their values are never shown.", {
    maxItems: MAX_HEADERS,
  }),
  disabledReason: refOrNull({ DisabledReason }, "Why it is disabled; null while enabled."),
  disabledAtUtc: orNull(time("Since when it is disabled; null while enabled.")),
  disabledBy: orNull(
    text("The admin who paused it, by name; null while enabled, if Herald disabled it, and if the name is not known."),
  ),
  nextTryAtUtc: orNull(
    time(
      "If the latest attempt failed: when the next one may begin. It is past while that is about to happen, and while the attempt is " +
        "under way. Null while nothing fails, and if nothing waits.",
    ),
  ),
  outageSinceUtc: orNull(
    time(
      "Since when Herald itself reaches no receiver of any organization: nothing is sent and no failure is counted meanwhile. Null " +
        "while its network works.",
    ),
  ),
  stoppedSinceUtc: orNull(
    time(
      "Since when an operator of Herald has stopped all attempts for all organizations, for instance during a restore of its database from a backup: " +
        "nothing is sent meanwhile. Null while they go on.",
    ),
  ),
  quarantinedAtUtc: orNull(
    time(
      "Since when Herald can't open the signing secret or an own header, since a key of its own is missing: nothing is sent and no " +
        "failure is counted meanwhile. Replacing the secret and these headers ends it. Null while Herald can.",
    ),
  ),
  createdAtUtc: time("When it was created."),
  updatedAtUtc: time("When its configuration last changed."),
  unfinished: refTo({ UnfinishedDeliveries }),
  lastDelivery: refOrNull(
    { WebhookDeliverySummary },
    "The delivery that was attempted last, or the newest if none was attempted; null before the first.",
  ),
  last24Hours: listOf(
    refTo({ HourOfDeliveries }),
    "24 hours, oldest first, the last one still running. They count the 2,000 newest deliveries, of the organization in a " +
      "list and of the endpoint if it is read alone, so on busy days the earliest hours are short, or empty.",
    { minItems: 24, maxItems: 24 },
  ),
  countedSinceUtc: time("From when on `last24Hours` count every delivery: on busy days later than their beginning."),
};

export const EndpointOverview = object("An endpoint, and how it fares.", overview);
export type EndpointOverview = Static<typeof EndpointOverview>;

export const FailedAttempt = object("An attempt of the run of failures that an endpoint is in.", {
  deliveryId: uuid("The delivery."),
  attemptNumber: count("Which of the delivery's attempts.", { minimum: 1 }),
  eventType: refTo({ EventType }, "The event's name."),
  ...attempt,
});
export type FailedAttempt = Static<typeof FailedAttempt>;

export const AttemptCounts = object("How the attempts that began in a period ended.", {
  succeeded: count("Attempts that succeeded."),
  failed: count("Attempts that failed."),
});
export type AttemptCounts = Static<typeof AttemptCounts>;

export const PeriodRates = object("How attempts fared over some days, and how long they took.", {
  days: count("How many times 24 hours, up to `endUtc`: 1, 7 or 30."),
  attempts: count("Attempts that began and ended in them."),
  succeeded: count("Those of them that succeeded."),
  p50Ms: orNull(
    count(
      "Half of the attempts took no longer, in milliseconds, estimated from eight classes, the first of them up to 50; null without attempts.",
    ),
  ),
  p95Ms: orNull(count("95 of 100 attempts took no longer, estimated likewise; null without attempts.")),
});
export type PeriodRates = Static<typeof PeriodRates>;

export const EndpointRates = object(
  "How an endpoint's attempts fared. They are counted as they end and written once a minute, so the last minute may be missing, and one " +
    "before a crash; each delivery's history is exact. Older attempts than the retention are not counted.",
  {
    endUtc: time("The end of the hour under way, with which the last hour and the last day end."),
    periods: listOf(refTo({ PeriodRates }), "Over 1, 7 and 30 days.", { minItems: 3, maxItems: 3 }),
    hours: listOf(refTo({ AttemptCounts }), "24 hours, oldest first.", { minItems: 24, maxItems: 24 }),
    days: listOf(refTo({ AttemptCounts }), "30 times 24 hours, oldest first.", { minItems: 30, maxItems: 30 }),
  },
);
export type EndpointRates = Static<typeof EndpointRates>;

export const EndpointDetails = object("One endpoint in full.", {
  ...overview,
  failureRun: listOf(
    refTo({ FailedAttempt }),
    "The failures since the last success, oldest first: if `disabledReason` is `failures`, the attempts that did it.",
  ),
  onResume: refOrNull({ ResumePreview }, "What goes out when the endpoint is enabled again; null while it is enabled."),
});
export type EndpointDetails = Static<typeof EndpointDetails>;
