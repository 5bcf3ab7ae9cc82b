import { SERVERS_SILENT } from "@herald/common/security/name-resolver";
import type { FailureKind } from "@herald/contracts";
import type { ClockShown, OwnFault } from "../sql/rows.ts";

/** An error with a code of Node, OpenSSL, c-ares or of this folder. */
export interface AttemptError {
  code?: string | undefined;
  message: string;
}

export const TIMED_OUT = "ERR_ATTEMPT_TIMED_OUT";
export const TOO_MANY_INTERIM = "ERR_TOO_MANY_INTERIM_RESPONSES";
/** A status below 100 is no status. */
export const NO_STATUS = "ERR_RESPONSE_STATUS";
export const BAD_URL = "ERR_ENDPOINT_URL";
/** The egress proxy failed, or refused Herald. Admins see the summary in {@link FAILURES}, and not the message of the error. */
export const PROXY_FAILED = "ERR_EGRESS_PROXY";
/** This machine has no file descriptor, buffer or memory for another connection. */
const EXHAUSTED: readonly string[] = ["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"];
export const BAD_REQUEST = "ERR_ATTEMPT_REQUEST";

export function ownFaultOf({ code = "" }: AttemptError): OwnFault | undefined {
  if (EXHAUSTED.includes(code)) return "machine";
  return code === SERVERS_SILENT ? "name servers" : undefined;
}

/** The clock that would explain why a certificate is refused. */
export function clockShownBy({ code }: AttemptError): ClockShown | undefined {
  if (code === "CERT_HAS_EXPIRED") return "ahead";
  return code === "CERT_NOT_YET_VALID" ? "behind" : undefined;
}

/** The other side of a handshake has ended it, and said why. */
export function isAlert({ message }: AttemptError): boolean {
  return message.includes("SSL alert number");
}

/** Describes an attempt that got no final response. */
export interface Failure {
  kind: UnansweredKind;
  /** A few plain words for the admin. */
  summary: string;
}

/** `http_status` needs an answer, and `interrupted` is set after a crash. */
type UnansweredKind = Exclude<FailureKind, "http_status" | "interrupted">;

const NOT_TRUSTED = "certificate not trusted";
const NO_AUTHORITY = `${NOT_TRUSTED} (unknown authority, or the receiver does not send its intermediate certificate)`;

/** Summaries of error codes, by failure kind. Kinds without codes are recognized elsewhere. */
const FAILURES: Record<UnansweredKind, Record<string, string>> = {
  url_not_https: { [BAD_URL]: "endpoint URL is not a plain https URL" },
  request_not_sendable: { [BAD_REQUEST]: "delivery cannot be sent over HTTP" },
  name_not_found: {
    ENOTFOUND: "host not found",
    ENODATA: "host not found",
    EBADNAME: "host not found",
    EBADQUERY: "host not found",
    EBADSTR: "host not found",
  },
  resolver_failed: { ETIMEOUT: "DNS lookup timed out", [SERVERS_SILENT]: "name servers do not answer" },
  address_blocked: { ERR_ADDRESS_NOT_ALLOWED: "address not allowed" },
  proxy_failed: { [PROXY_FAILED]: "egress proxy failed" },
  connection_refused: { ECONNREFUSED: "connection refused" },
  connection_timed_out: { ETIMEDOUT: "connection timed out" },
  connection_reset: {
    ECONNRESET: "connection reset",
    ECONNABORTED: "connection reset",
    EPIPE: "connection reset",
  },
  unreachable: {
    EHOSTUNREACH: "host unreachable",
    EHOSTDOWN: "host unreachable",
    ENETUNREACH: "network unreachable",
    EADDRNOTAVAIL: "network unreachable",
    // This machine's own rules: a prohibited route, a packet filter, a route into nothing.
    EACCES: "network unreachable",
    EPERM: "network unreachable",
    EINVAL: "network unreachable",
  },
  certificate_invalid: {
    CERT_HAS_EXPIRED: "certificate expired",
    CERT_NOT_YET_VALID: "certificate not yet valid",
    CERT_REVOKED: "certificate revoked",
    ERR_TLS_CERT_ALTNAME_INVALID: "certificate is for another name",
    HOSTNAME_MISMATCH: "certificate is for another name",
  },
  certificate_untrusted: {
    DEPTH_ZERO_SELF_SIGNED_CERT: `${NOT_TRUSTED} (self-signed)`,
    SELF_SIGNED_CERT_IN_CHAIN: `${NOT_TRUSTED} (unknown authority)`,
    UNABLE_TO_GET_ISSUER_CERT: `${NOT_TRUSTED} (unknown authority)`,
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: NO_AUTHORITY,
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: NO_AUTHORITY,
    CERT_UNTRUSTED: NOT_TRUSTED,
    CERT_REJECTED: NOT_TRUSTED,
    CERT_SIGNATURE_FAILURE: NOT_TRUSTED,
    INVALID_CA: NOT_TRUSTED,
    INVALID_PURPOSE: `${NOT_TRUSTED} (not made for servers)`,
    PATH_LENGTH_EXCEEDED: NOT_TRUSTED,
    CERT_CHAIN_TOO_LONG: NOT_TRUSTED,
  },
  client_certificate_required: {},
  tls_name_unknown: {},
  tls_failed: {},
  timed_out: {},
  response_invalid: {
    HPE_HEADER_OVERFLOW: "response headers too large",
    [NO_STATUS]: "response is not valid HTTP",
    [TOO_MANY_INTERIM]: "receiver sent no final response, only 1xx",
  },
  other: {},
};

const BY_CODE = new Map(
  Object.entries(FAILURES).flatMap(([kind, summaries]) =>
    Object.entries(summaries).map(([code, summary]): [string, Failure] => [
      code,
      { kind: kind as UnansweredKind, summary },
    ]),
  ),
);

/**
 * The beginning of c-ares' error messages. Their codes mean other things elsewhere: ECONNREFUSED is a dead name server here, and not a receiver that
 * refuses. Only the codes above say something about the name.
 */
const LOOKUP = /^query[A-Z]/;
const LOOKUP_FAILED: Failure = { kind: "resolver_failed", summary: "DNS lookup failed" };

/**
 * Says why an attempt got no response. The words are made here and not taken from the error, whose message may hold the resolved address.
 *
 * @param deadlineMs the time that the attempt had
 */
export function failureOf({ code = "", message }: AttemptError, deadlineMs: number): Failure {
  if (code === TIMED_OUT) return { kind: "timed_out", summary: `timed out after ${deadlineMs / 1000} s` };
  if (code === "ECONNRESET" && message.includes("secure TLS connection"))
    return { kind: "tls_failed", summary: "connection closed during the TLS handshake" };
  if (code === "ECONNRESET" && message === "socket hang up")
    return { kind: "connection_reset", summary: "connection closed without a response" };
  const known = BY_CODE.get(code);
  if (LOOKUP.test(message) && known?.kind !== "name_not_found" && known?.kind !== "resolver_failed")
    return LOOKUP_FAILED;
  if (known) return known;
  if (code.startsWith("HPE_")) return { kind: "response_invalid", summary: "response is not valid HTTP" };
  if (code === "UNSPECIFIED")
    return { kind: "certificate_untrusted", summary: `${NOT_TRUSTED} (${reasonOf(message)})` };
  if (code === "EPROTO" || code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_"))
    return tlsFailure(`${code} ${message}`);
  const isCode = /^[A-Z][A-Z0-9_]{1,63}$/.test(code);
  return { kind: "other", summary: isCode ? `request failed (${code})` : "request failed" };
}

/** OpenSSL's own reason, which Node passes on as the message of an error without a code of its own: "EE certificate key too weak". */
function reasonOf(message: string): string {
  return /^[\w ,.'()/-]{1,100}$/.test(message) ? message : "OpenSSL refuses it";
}

function tlsFailure(text: string): Failure {
  if (/wrong.version.number|packet.length.too.long|http.request/i.test(text))
    return { kind: "tls_failed", summary: "receiver does not speak TLS on this port" };
  if (/protocol.version|unsupported.protocol|version.too.low/i.test(text))
    return { kind: "tls_failed", summary: "receiver does not support TLS 1.2 or later" };
  if (/unsafe.legacy|dh.key.too.small/i.test(text))
    return { kind: "tls_failed", summary: "receiver's TLS is outdated and unsafe" };
  if (/certificate.required|alert.bad.certificate/i.test(text))
    return { kind: "client_certificate_required", summary: "receiver asks for a client certificate" };
  if (/no.application.protocol/i.test(text)) return { kind: "tls_failed", summary: "receiver does not speak HTTP/1.1" };
  if (/unrecognized.name/i.test(text))
    return { kind: "tls_name_unknown", summary: "receiver does not know this host name" };
  return { kind: "tls_failed", summary: "TLS handshake failed" };
}
