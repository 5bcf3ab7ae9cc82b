import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { errorSummary, TIMED_OUT } from "./error-summary.ts";

describe("error summary", () => {
  test.each([
    [TIMED_OUT, "", "timed out after 15 s"],
    ["ECONNREFUSED", "connect ECONNREFUSED 93.184.216.34:443", "connection refused"],
    ["ECONNRESET", "read ECONNRESET", "connection reset"],
    ["ECONNRESET", "socket hang up", "connection closed without a response"],
    ["EPIPE", "write EPIPE", "connection reset"],
    ["ETIMEDOUT", "", "connection timed out"],
    ["EHOSTUNREACH", "connect EHOSTUNREACH 93.184.216.34:443", "host unreachable"],
    ["ENETUNREACH", "connect ENETUNREACH 2606:4700::1111:443 - Local (:::0)", "network unreachable"],
    ["ENOTFOUND", "queryA ENOTFOUND example.com", "host not found"],
    ["CERT_REVOKED", "certificate revoked", "certificate revoked"],
    [
      "EPROTO",
      "write EPROTO ...:ssl3_read_bytes:sslv3 alert handshake failure:SSL alert number 40",
      "TLS handshake failed",
    ],
    ["ERR_SSL_TLSV1_UNRECOGNIZED_NAME", "tlsv1 unrecognized name", "receiver does not know this host name"],
    ["HPE_INVALID_CONSTANT", "Parse Error: Expected HTTP/", "response is not valid HTTP"],
    ["EMFILE", "too many open files", "request failed (EMFILE)"],
    ["not a code", "", "request failed"],
    ["", "", "request failed"],
  ])("of %s (%p) is %p", (code, message, summary) => {
    expect(errorSummary({ code, message }, 15_000)).toBe(summary);
  });

  test("never holds anything of the message, which may name the resolved address", () => {
    const codes = fc.constantFrom("ECONNREFUSED", "EPROTO", "ERR_SSL_X", "HPE_X", "EX", "ERR_GOT_REQUEST_ERROR", "");
    fc.assert(
      fc.property(codes, fc.ipV4(), (code, ip) => {
        expect(errorSummary({ code, message: `connect ${code} ${ip}:443` }, 15_000)).not.toContain(ip);
      }),
    );
  });
});
