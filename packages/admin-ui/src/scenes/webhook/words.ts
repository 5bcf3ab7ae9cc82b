import type { EndpointDetails, FailedAttempt, FailureKind } from "@herald/contracts";
import { counted, formats } from "../../common/formats.ts";

export interface Diagnosis {
  cause: string;
  remedy: string;
}

const certificate: Diagnosis = {
  cause: "The connection failed over a TLS certificate.",
  remedy:
    "Install a valid certificate for the URL's host name, with its whole chain, and don't ask for one of the client's.",
};
const noName: Diagnosis = {
  cause: "The URL's host name can't be found, or not reliably.",
  remedy: "Correct the URL, or the DNS record behind it.",
};
const noWay: Diagnosis = {
  cause: "The receiver's address can't be reached.",
  remedy: "Look at its firewall and its network, or correct the URL.",
};

const byKind: Record<Exclude<FailureKind, "http_status">, Diagnosis> = {
  interrupted: {
    cause: "The service itself was interrupted in the middle of the attempt.",
    remedy: "There is nothing to correct in the receiver.",
  },
  url_not_https: {
    cause: "The URL is no plain HTTPS URL.",
    remedy: "Correct the URL.",
  },
  request_not_sendable: {
    cause: "The delivery can't be sent as an HTTP request.",
    remedy: "There is nothing to correct in the receiver: contact support with the delivery's details.",
  },
  name_not_found: noName,
  resolver_failed: noName,
  address_blocked: {
    cause: "The URL leads to a private or reserved address, and the service connects to public ones only.",
    remedy: "Use a URL whose host has a public address.",
  },
  proxy_failed: {
    cause: "The service's own proxy refused the way to the receiver, or gave no answer.",
    remedy: "There is nothing to correct in the receiver: contact support if it goes on.",
  },
  connection_refused: {
    cause: "Nothing accepts connections at the webhook's address.",
    remedy: "Start the receiver, or correct the port or the firewall.",
  },
  connection_timed_out: noWay,
  connection_reset: {
    cause: "The connection broke before an answer came.",
    remedy: "Look at the receiver's logs and at proxies in front of it.",
  },
  unreachable: noWay,
  certificate_invalid: certificate,
  certificate_untrusted: certificate,
  client_certificate_required: certificate,
  tls_name_unknown: {
    cause: "The receiver doesn't know the URL's host name.",
    remedy: "Correct the URL, or let the receiver serve this host name.",
  },
  tls_failed: {
    cause: "No encrypted connection could be made.",
    remedy: "Let the receiver speak TLS 1.2 or later on the URL's port.",
  },
  timed_out: {
    cause: "The receiver took too long to answer.",
    remedy: "Let it store the event, answer with 2xx at once, and do the work afterwards.",
  },
  response_invalid: {
    cause: "What the receiver answers is not valid HTTP.",
    remedy: "Look at its web server and at proxies in front of it.",
  },
  other: {
    cause: "The request failed before an answer came.",
    remedy: "Look at the receiver and at proxies in front of it.",
  },
};

/** The same by the response status. The first pattern that matches counts. */
const byStatus: [status: RegExp, cause: string, remedy: string][] = [
  [
    /^3/,
    "The receiver answers with a redirect, and redirects are never followed.",
    "Put the final URL into the webhook.",
  ],
  [
    /401|403/,
    "The receiver rejects the request. Most often its signing secret or its way of checking the signature is wrong.",
    "Compare its signature with the expected one (Signature), or replace the signing secret (Settings).",
  ],
  [
    /404|405|410/,
    "The receiver has nothing that takes a POST at this URL.",
    "Correct the URL's path, or the receiver's route.",
  ],
  [
    /400|415|422/,
    "The receiver does not accept the body.",
    "Look at its response in an attempt below. Receivers should tolerate fields that they don't know.",
  ],
  [/413/, "The body is too large for the receiver.", "Raise its limit for request bodies."],
  [
    /408|429/,
    "The receiver, or something in front of it, is overloaded or limits the rate.",
    "Let it accept more requests.",
  ],
  [
    /503/,
    "The receiver, or a gateway in front of it, is overloaded, asks for a wait, or is down.",
    "A wait that it asks for (Retry-After) is kept, up to 15 minutes. Otherwise look at the receiver and at its gateway.",
  ],
  [
    /502|504/,
    "A gateway in front of the receiver can't reach it, or it is down.",
    "Look at the receiver and at its gateway.",
  ],
  [
    /^[5-9]/,
    "The receiver answered with an error of its own (5xx).",
    "Look at its logs at the times of these attempts.",
  ],
];

/** A run of failures is explained by its latest one; null if there is none. Of an `enabled` webhook retries go on without a resume. */
export function diagnose(
  run: readonly Pick<FailedAttempt, "statusCode" | "failureKind">[],
  enabled = false,
): Diagnosis | null {
  const latest = run.at(-1);
  if (!latest) return null;
  const { cause, remedy } = diagnosisOf(latest);
  return { cause, remedy: `${remedy} ${enabled ? "Retries go on by themselves." : "Then resume."}` };
}

function diagnosisOf({ statusCode, failureKind }: Pick<FailedAttempt, "statusCode" | "failureKind">): Diagnosis {
  // A page that was open while Herald was updated may get a kind that it doesn't know.
  if (failureKind !== null && failureKind !== "http_status") return byKind[failureKind] ?? byKind.other;
  const [, cause, remedy] = byStatus.find(([pattern]) => pattern.test(String(statusCode))) ?? [];
  return {
    cause: cause ?? `The receiver answered ${statusCode}, which is not a 2xx status.`,
    remedy: remedy ?? "Look at its response in an attempt below.",
  };
}

/** The API counts no more parked deliveries. */
const COUNTED_TO = 10_000;

/** Says before a resume what it will send: "Resuming sends 15 deliveries: 12 that wait here, and 3 events …" */
export function resumeWords({ onResume }: Pick<EndpointDetails, "onResume">): string {
  const waiting = onResume?.parked ?? 0;
  const missed = onResume?.missedEvents ?? 0;
  const total = waiting + missed;
  if (total === 0) return "Nothing waits: the next event will be the first to go out.";
  const moreMissed = onResume?.missedEventsIsMinimum ?? false;
  const moreWaiting = waiting >= COUNTED_TO;
  const atLeast = moreMissed || moreWaiting ? "at least " : "";
  const waits = waiting === 1 ? "waits" : "wait";
  if (missed === 0) return `Resuming sends ${atLeast}${counted(waiting, "delivery", "deliveries")} that ${waits} here.`;
  const came = "of the last seven days that came meanwhile";
  if (waiting === 0) return `Resuming sends ${atLeast}${counted(missed, "event", "events")} ${came}.`;
  const events = `${moreMissed ? "at least " : ""}${counted(missed, "event", "events")} ${came}`;
  return `Resuming sends ${atLeast}${formats.number(total)} deliveries: ${formats.number(waiting)} that ${waits} here, and ${events}.`;
}
