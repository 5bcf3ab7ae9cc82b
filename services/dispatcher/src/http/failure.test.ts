import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { failureOf, TIMED_OUT } from "./failure.ts";

test.each([
  [TIMED_OUT, "", "timed_out", "timed out after 15 s"],
  ["ECONNREFUSED", "connect ECONNREFUSED 93.184.216.34:443", "connection_refused", "connection refused"],
  ["ECONNRESET", "read ECONNRESET", "connection_reset", "connection reset"],
  ["ECONNRESET", "socket hang up", "connection_reset", "connection closed without a response"],
  ["EPIPE", "write EPIPE", "connection_reset", "connection reset"],
  ["ETIMEDOUT", "", "connection_timed_out", "connection timed out"],
  ["EHOSTUNREACH", "connect EHOSTUNREACH 93.184.216.34:443", "unreachable", "host unreachable"],
  ["ENETUNREACH", "connect ENETUNREACH 2606:4700::1111:443 - Local (:::0)", "unreachable", "network unreachable"],
  ["EACCES", "connect EACCES 10.1.2.3:443 - Local (0.0.0.0:0)", "unreachable", "network unreachable"],
  ["EPERM", "connect EPERM 93.184.216.34:443 - Local (0.0.0.0:0)", "unreachable", "network unreachable"],
  ["EINVAL", "connect EINVAL 10.2.2.3:443 - Local (0.0.0.0:0)", "unreachable", "network unreachable"],
  ["ENOTFOUND", "queryA ENOTFOUND example.com", "name_not_found", "host not found"],
  ["EBADSTR", "queryA EBADSTR example.com", "name_not_found", "host not found"],
  ["ETIMEOUT", "queryA ETIMEOUT example.com", "resolver_failed", "DNS lookup timed out"],
  ["ESERVFAIL", "queryAaaa ESERVFAIL example.com", "resolver_failed", "DNS lookup failed"],
  ["ECONNREFUSED", "queryA ECONNREFUSED example.com", "resolver_failed", "DNS lookup failed"],
  ["EOF", "queryAaaa EOF example.com", "resolver_failed", "DNS lookup failed"],
  ["ENOMEM", "queryA ENOMEM example.com", "resolver_failed", "DNS lookup failed"],
  ["CERT_REVOKED", "certificate revoked", "certificate_invalid", "certificate revoked"],
  ["EPROTO", "write EPROTO ...:sslv3 alert handshake failure:SSL alert 40", "tls_failed", "TLS handshake failed"],
  ["ERR_SSL_DH_KEY_TOO_SMALL", "dh key too small", "tls_failed", "receiver's TLS is outdated and unsafe"],
  ["ERR_SSL_UNRECOGNIZED_NAME", "unrecognized name", "tls_name_unknown", "receiver does not know this host name"],
  ["HPE_INVALID_CONSTANT", "Parse Error: Expected HTTP/", "response_invalid", "response is not valid HTTP"],
  ["EMFILE", "too many open files", "other", "request failed (EMFILE)"],
  ["not a code", "", "other", "request failed"],
  ["", "", "other", "request failed"],
])("the failure of %s (%p) is %s, %p", (code, message, kind, summary) => {
  expect(failureOf({ code, message }, 15_000)).toEqual({ kind, summary });
});

test("a failure's summary has no words of the error's message, which may name the resolved address", () => {
  const codes = fc.constantFrom("ECONNREFUSED", "EPROTO", "ERR_SSL_X", "HPE_X", "EX", "ERR_GOT_REQUEST_ERROR", "");
  fc.assert(
    fc.property(codes, fc.ipV4(), (code, ip) => {
      expect(failureOf({ code, message: `connect ${code} ${ip}:443` }, 15_000).summary).not.toContain(ip);
    }),
  );
});
