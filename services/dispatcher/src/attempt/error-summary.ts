/** What went wrong, as one of the codes of Node, OpenSSL, c-ares or of this folder. */
export interface AttemptError {
  code?: string | undefined;
  message: string;
}

export const TIMED_OUT = "ERR_ATTEMPT_TIMED_OUT";
export const TOO_MANY_INTERIM = "ERR_TOO_MANY_INTERIM_RESPONSES";
export const BAD_URL = "ERR_ENDPOINT_URL";
export const BAD_REQUEST = "ERR_ATTEMPT_REQUEST";

const NOT_TRUSTED = "certificate not trusted";

const SUMMARIES: Record<string, string> = {
  ERR_ADDRESS_NOT_ALLOWED: "address not allowed",
  [TOO_MANY_INTERIM]: "receiver sent no final response, only 1xx",
  [BAD_URL]: "endpoint URL is not a plain https URL",
  [BAD_REQUEST]: "delivery cannot be sent over HTTP",

  ENOTFOUND: "host not found",
  ENODATA: "host not found",
  EBADNAME: "host not found",
  ETIMEOUT: "DNS lookup timed out",
  EAI_AGAIN: "DNS lookup failed",
  ESERVFAIL: "DNS lookup failed",
  EREFUSED: "DNS lookup failed",
  EFORMERR: "DNS lookup failed",
  EBADRESP: "DNS lookup failed",
  ENOTIMP: "DNS lookup failed",
  ECANCELLED: "DNS lookup failed",

  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  ECONNABORTED: "connection reset",
  EPIPE: "connection reset",
  ETIMEDOUT: "connection timed out",
  EHOSTUNREACH: "host unreachable",
  EHOSTDOWN: "host unreachable",
  ENETUNREACH: "network unreachable",
  EADDRNOTAVAIL: "network unreachable",

  CERT_HAS_EXPIRED: "certificate expired",
  CERT_NOT_YET_VALID: "certificate not yet valid",
  CERT_REVOKED: "certificate revoked",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate is for another name",
  HOSTNAME_MISMATCH: "certificate is for another name",
  DEPTH_ZERO_SELF_SIGNED_CERT: `${NOT_TRUSTED} (self-signed)`,
  SELF_SIGNED_CERT_IN_CHAIN: `${NOT_TRUSTED} (unknown authority)`,
  UNABLE_TO_GET_ISSUER_CERT: `${NOT_TRUSTED} (unknown authority)`,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: `${NOT_TRUSTED} (unknown authority, or the receiver does not send its intermediate certificate)`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `${NOT_TRUSTED} (unknown authority, or the receiver does not send its intermediate certificate)`,
  CERT_UNTRUSTED: NOT_TRUSTED,
  CERT_REJECTED: NOT_TRUSTED,
  CERT_SIGNATURE_FAILURE: NOT_TRUSTED,
  INVALID_CA: NOT_TRUSTED,
  INVALID_PURPOSE: `${NOT_TRUSTED} (not made for servers)`,
  PATH_LENGTH_EXCEEDED: NOT_TRUSTED,
  CERT_CHAIN_TOO_LONG: NOT_TRUSTED,
  EE_KEY_TOO_SMALL: `${NOT_TRUSTED} (key too small)`,
  CA_MD_TOO_WEAK: `${NOT_TRUSTED} (signature too weak)`,

  HPE_HEADER_OVERFLOW: "response headers too large",
};

/**
 * Says in a few plain words why an attempt got no response. The text is made here and not taken from the
 * error, whose message may hold the resolved address.
 *
 * @param deadlineMs what the attempt was given
 */
export function errorSummary({ code = "", message }: AttemptError, deadlineMs: number): string {
  if (code === TIMED_OUT) return `timed out after ${deadlineMs / 1000} s`;
  if (code === "ECONNRESET" && message.includes("secure TLS connection"))
    return "connection closed during the TLS handshake";
  if (code === "ECONNRESET" && message === "socket hang up") return "connection closed without a response";
  const known = SUMMARIES[code];
  if (known) return known;
  if (code.startsWith("HPE_")) return "response is not valid HTTP";
  if (code === "EPROTO" || code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_"))
    return tlsSummary(`${code} ${message}`);
  return /^[A-Z][A-Z0-9_]{1,63}$/.test(code) ? `request failed (${code})` : "request failed";
}

function tlsSummary(text: string): string {
  if (/wrong.version.number|packet.length.too.long|http.request/i.test(text))
    return "receiver does not speak TLS on this port";
  if (/protocol.version|unsupported.protocol|version.too.low/i.test(text))
    return "receiver does not support TLS 1.2 or later";
  if (/certificate.required|alert.bad.certificate/i.test(text)) return "receiver asks for a client certificate";
  if (/unrecognized.name/i.test(text)) return "receiver does not know this host name";
  return "TLS handshake failed";
}
