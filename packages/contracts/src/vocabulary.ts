/** How a delivery stands, in rows, filters and counts, each with the sentence that API, page and command say. */
export const OUTCOMES = {
  waiting: "No attempt has been made yet.",
  failing: "The latest attempt failed, and another one follows.",
  parked: "The endpoint is disabled. A resume sends it.",
  succeeded: "An attempt got a 2xx response.",
  exhausted: "Every attempt failed, and none follows. An admin can send it again.",
  expired: "It was still unfinished when it was too old to be kept, so Herald ended it.",
} as const;
export type Outcome = keyof typeof OUTCOMES;

/** The types of notices, which are their routing keys on the exchange `herald.notices`. notices.ts says what each means. */
export const NOTICE_TYPES = [
  "endpoint.failing",
  "endpoint.disabled",
  "endpoint.recovered",
  "endpoint.exhausted",
  "endpoint.expired",
  "endpoint.resumed",
  "endpoint.secret_replaced",
  "endpoint.deleted",
  "event.rejected",
] as const;
export type NoticeType = (typeof NOTICE_TYPES)[number];

/** The kinds of entries in the trail: a change of an endpoint's settings, or something that an admin sent to it. */
export const CHANGE_KINDS = [
  "created",
  "edited",
  "paused",
  "resumed",
  "disabled",
  "deleted",
  "delivered",
  "resent",
] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

export const RESEND_STATES = ["running", "finished", "stopped"] as const;
export type ResendState = (typeof RESEND_STATES)[number];

/** Why a resend was stopped: an admin `asked` for it, or its endpoint is `disabled`. */
export const RESEND_STOP_REASONS = ["asked", "disabled"] as const;
export type ResendStopReason = (typeof RESEND_STOP_REASONS)[number];

export const CHANGED_BY = ["admin", "operator", "herald"] as const;
export type ChangedBy = (typeof CHANGED_BY)[number];

/**
 * Why an endpoint has no delivery of an event, each with the sentence that API, page, command and documents say. If several
 * hold, the first one counts: a reason that held from the beginning comes before one that time or a setting has brought.
 */
export const NO_DELIVERY_REASONS = {
  created_later: "The endpoint was created after the event occurred, so it never gets it.",
  not_subscribed:
    "The endpoint isn't subscribed to events of this type. Adding the type to its events brings those of the last seven days.",
  older_than_window:
    "The event is older than seven days, so no catch-up brings it any more. Until then the endpoint was disabled or not " +
    "subscribed; or it had a delivery, which has been erased since.",
  disabled:
    "The endpoint is disabled, by an admin or after failures. A resume within seven days of the event brings it.",
  not_yet:
    "Herald will make the delivery soon: for a new event within moments; after a resume or a new subscription when the endpoint's " +
    "turn comes.",
} as const;
export type NoDeliveryReason = keyof typeof NO_DELIVERY_REASONS;

/** Why Herald delivers an event to no endpoint, each with the sentence that API, page, command and documents say. */
export const UNDELIVERED_CAUSES = {
  rejected:
    "It broke the contract, as the reason says. The operator has it in the queue of rejected events; corrected, it can be emitted again.",
  in_future: "Its time was more than an hour in the future when it came: the clock of its emitter was wrong.",
  unknown_type: "Herald delivers no event of its type: there is no type of this exact name.",
  too_old: "It was older than seven days when it came, and events are delivered for that long.",
} as const;
export type UndeliveredCause = keyof typeof UNDELIVERED_CAUSES;

/**
 * Why an attempt failed, as a word for programs; `errorSummary` says it in a sentence for people. A kind is never renamed.
 *
 * The dispatcher gives each failure its kind, the page its advice: each side has a record with every kind in it, so that
 * the compiler asks both for a new one.
 *
 * - `interrupted`: the dispatcher ended during the attempt; the receiver may have got it
 * - `url_not_https`, `request_not_sendable`: nothing was sent, since the URL is no plain https URL or the request can't be
 *   written as HTTP
 * - `name_not_found`, `resolver_failed`: DNS knows no such host, or gave no answer
 * - `address_blocked`: the host's address is private or reserved
 * - `proxy_failed`: the egress proxy gave no answer, or refused; it says nothing of the receiver
 * - `connection_refused`, `connection_timed_out`, `connection_reset`, `unreachable`: TCP
 * - `certificate_invalid` (expired, revoked, of another name), `certificate_untrusted`, `client_certificate_required`,
 *   `tls_name_unknown`, `tls_failed`: TLS
 * - `timed_out`: no response headers within the attempt's time
 * - `response_invalid`: the answer is not valid HTTP, or never got to a final status
 * - `http_status`: the receiver answered, with a status other than 2xx; `statusCode` says which
 * - `other`: none of these
 */
export const FAILURE_KINDS = [
  "interrupted",
  "url_not_https",
  "request_not_sendable",
  "name_not_found",
  "resolver_failed",
  "address_blocked",
  "proxy_failed",
  "connection_refused",
  "connection_timed_out",
  "connection_reset",
  "unreachable",
  "certificate_invalid",
  "certificate_untrusted",
  "client_certificate_required",
  "tls_name_unknown",
  "tls_failed",
  "timed_out",
  "response_invalid",
  "http_status",
  "other",
] as const;

export type FailureKind = (typeof FAILURE_KINDS)[number];
