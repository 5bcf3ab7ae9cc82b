import { SERVERS_SILENT } from "@herald/common/security/name-resolver";
import type { FailureKind } from "@herald/contracts";
import type { ClockShown, OwnFault } from "../sql/rows.ts";

/** An error with a code of Node, OpenSSL, c-ares or of this folder. */
export type AttemptError = { code?: string | undefined; message: string };

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

/** Why an attempt got no final response, and a few plain words for the admin. */
export type Failure = { kind: UnansweredKind; summary: string };

/** `http_status` needs an answer, and `interrupted` is set after a crash. */
type UnansweredKind = Exclude<FailureKind, "http_status" | "interrupted">;

const NOT_TRUSTED = "certificate not trusted";
const UNKNOWN_AUTHORITY = `${NOT_TRUSTED} (unknown authority)`;
const NO_AUTHORITY = `${NOT_TRUSTED} (unknown authority, or the receiver does not send its intermediate certificate)`;

/** What error codes mean. A kind without codes is recognized by the message. */
const FAILURES: readonly (readonly [kind: UnansweredKind, summary: string, ...codes: string[]])[] = [
  ["url_not_https", "endpoint URL is not a plain https URL", BAD_URL],
  ["request_not_sendable", "delivery cannot be sent over HTTP", BAD_REQUEST],
  ["name_not_found", "host not found", "ENOTFOUND", "ENODATA", "EBADNAME", "EBADQUERY", "EBADSTR"],
  ["resolver_failed", "DNS lookup timed out", "ETIMEOUT"],
  ["resolver_failed", "name servers do not answer", SERVERS_SILENT],
  ["address_blocked", "address not allowed", "ERR_ADDRESS_NOT_ALLOWED"],
  ["proxy_failed", "egress proxy failed", PROXY_FAILED],
  ["connection_refused", "connection refused", "ECONNREFUSED"],
  ["connection_timed_out", "connection timed out", "ETIMEDOUT"],
  ["connection_reset", "connection reset", "ECONNRESET", "ECONNABORTED", "EPIPE"],
  ["unreachable", "host unreachable", "EHOSTUNREACH", "EHOSTDOWN"],
  ["unreachable", "network unreachable", "ENETUNREACH", "EADDRNOTAVAIL"],
  // This machine's own rules: a prohibited route, a packet filter, a route into nothing.
  ["unreachable", "network unreachable", "EACCES", "EPERM", "EINVAL"],
  ["certificate_invalid", "certificate expired", "CERT_HAS_EXPIRED"],
  ["certificate_invalid", "certificate not yet valid", "CERT_NOT_YET_VALID"],
  ["certificate_invalid", "certificate revoked", "CERT_REVOKED"],
  ["certificate_invalid", "certificate is for another name", "ERR_TLS_CERT_ALTNAME_INVALID", "HOSTNAME_MISMATCH"],
  ["certificate_untrusted", `${NOT_TRUSTED} (self-signed)`, "DEPTH_ZERO_SELF_SIGNED_CERT"],
  ["certificate_untrusted", UNKNOWN_AUTHORITY, "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_GET_ISSUER_CERT"],
  ["certificate_untrusted", NO_AUTHORITY, "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
  ["certificate_untrusted", NOT_TRUSTED, "CERT_UNTRUSTED", "CERT_REJECTED", "CERT_SIGNATURE_FAILURE", "INVALID_CA"],
  ["certificate_untrusted", NOT_TRUSTED, "PATH_LENGTH_EXCEEDED", "CERT_CHAIN_TOO_LONG"],
  ["certificate_untrusted", `${NOT_TRUSTED} (not made for servers)`, "INVALID_PURPOSE"],
  ["response_invalid", "response headers too large", "HPE_HEADER_OVERFLOW"],
  ["response_invalid", "response is not valid HTTP", NO_STATUS],
  ["response_invalid", "receiver sent no final response, only 1xx", TOO_MANY_INTERIM],
];

const BY_CODE = new Map(
  FAILURES.flatMap(([kind, summary, ...codes]) => codes.map((code): [string, Failure] => [code, { kind, summary }])),
);

/**
 * The beginning of c-ares' error messages. Their codes mean other things elsewhere: ECONNREFUSED is a dead name server here, and not a receiver that
 * refuses. Only the codes above say something about the name.
 */
const LOOKUP = /^query[A-Z]/;
const LOOKUP_FAILED: Failure = { kind: "resolver_failed", summary: "DNS lookup failed" };

/** Why an attempt got no response. The words are made here and not taken from the error: its message may hold the resolved address. */
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
