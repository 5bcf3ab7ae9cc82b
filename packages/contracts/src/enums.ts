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

/** One of the names in a record, whose sentences say what each means. */
function listed<Name extends string>(what: string, meanings: Record<Name, string>) {
  const names = Object.keys(meanings) as Name[];
  return oneOf(names, `${what} ${names.map((name) => `\`${name}\`: ${meanings[name]}`).join(" ")}`);
}

export const EventType = eventTypeOf(DEFAULT_CATALOGUE);

export const Outcome = listed("How a delivery stands.", OUTCOMES);

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

export const NoDeliveryReason = listed("Why an endpoint has no delivery of an event.", NO_DELIVERY_REASONS);

export const UndeliveredCause = listed("Why Herald delivers an event to no endpoint.", UNDELIVERED_CAUSES);
