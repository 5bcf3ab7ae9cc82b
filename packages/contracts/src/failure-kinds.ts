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
