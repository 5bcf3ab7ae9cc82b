import { type Catalogue, DEFAULT_CATALOGUE } from "./event-types.ts";
import { oneOf } from "./json-schema.ts";
import {
  CHANGE_KINDS,
  CHANGED_BY,
  FAILURE_KINDS,
  NO_DELIVERY_REASONS,
  OUTCOMES,
  RESEND_STATES,
  RESEND_STOP_REASONS,
  UNDELIVERED_CAUSES,
} from "./vocabulary.ts";

// The closed lists of the management API. Each has a name in its OpenAPI document, so that a client that is generated from
// it has one type for each, wherever it stands.

/** The names of a catalogue. To the compiler they are texts: each Herald reads its catalogue when it starts. */
export const eventTypeOf = (catalogue: Catalogue) => oneOf<string>(Object.keys(catalogue), "An event's exact name.");

export const EventType = eventTypeOf(DEFAULT_CATALOGUE);

export const Outcome = oneOf(
  OUTCOMES,
  "`waiting`: no attempt so far; `failing`: the latest attempt failed, and another one follows; `parked`: unfinished, and the " +
    "endpoint is disabled; `succeeded`, `exhausted` (its last attempt failed) and `expired` (it was unfinished when it was too old " +
    "to be kept): nothing more happens.",
);

export const FailureKind = oneOf(
  FAILURE_KINDS,
  "Why an attempt failed, for programs. For `http_status` see `statusCode`. Kinds may be added: treat one that you don't " +
    "know as `other`.",
);

export const DisabledReason = oneOf(
  ["paused", "failures"],
  "`paused` by an admin, or disabled by Herald after `failures`.",
);

export const ChangeKind = oneOf(
  CHANGE_KINDS,
  "`created`; `paused` and `resumed`, perhaps with other settings; `disabled` by Herald, after failures; `deleted`; " +
    "`delivered`: no setting, but a payload that an admin sent; `resent`: deliveries that an admin had sent again; `edited`: anything else.",
);

export const ChangedBy = oneOf(
  CHANGED_BY,
  "`admin`: on the page or by the API; `operator`: by a command on the servers; `herald`: Herald itself.",
);

export const ResendState = oneOf(
  RESEND_STATES,
  "`running`; `finished`: all of them are on their way or have ended; `stopped`: no more are sent.",
);

export const ResendStopReason = oneOf(
  RESEND_STOP_REASONS,
  "`asked`: an admin stopped it; `disabled`: the endpoint was paused or disabled.",
);

const reasons = Object.keys(NO_DELIVERY_REASONS) as (keyof typeof NO_DELIVERY_REASONS)[];

export const NoDeliveryReason = oneOf(
  reasons,
  `Why an endpoint has no delivery of an event. ${reasons.map((each) => `\`${each}\`: ${NO_DELIVERY_REASONS[each]}`).join(" ")}`,
);

const causes = Object.keys(UNDELIVERED_CAUSES) as (keyof typeof UNDELIVERED_CAUSES)[];

export const UndeliveredCause = oneOf(
  causes,
  `Why Herald delivers an event to no endpoint. ${causes.map((each) => `\`${each}\`: ${UNDELIVERED_CAUSES[each]}`).join(" ")}`,
);
