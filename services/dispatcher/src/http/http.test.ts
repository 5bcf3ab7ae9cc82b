import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { failureOf, TIMED_OUT } from "./failure.ts";
import { responseExcerpt, retryAfterMs } from "./response.ts";
import { createTargets } from "./target.ts";

const excerptOf = (...chunks: (string | number[])[]) =>
  responseExcerpt(chunks.map((chunk) => Buffer.from(chunk as string)));

test.each<[string, string | number[], string | null]>([
  ["text", "ok\r\n\tdone", "ok\r\n\tdone"],
  ["nothing", "", null],
  ["NUL", "a\0b", "a\uFFFDb"],
  ["an escape sequence of terminals", "\x1b[31mred", "\uFFFD[31mred"],
  ["DEL and C1 controls", "a\x7f\u0085", "a\uFFFD\uFFFD"],
  ["text turned round", "a\u202Eb\u2066c", "a\uFFFDb\uFFFDc"],
  ["bytes that are no UTF-8", [0x61, 0xff, 0xc0, 0x80, 0x62], "a\uFFFD\uFFFD\uFFFDb"],
  ["an encoded surrogate", [0xed, 0xa0, 0x80], "\uFFFD\uFFFD\uFFFD"],
  ["a byte order mark", [0xef, 0xbb, 0xbf, 0x61], "a"],
  ["nothing but a cut character", [0xf0, 0x9f], null],
])("the excerpt of %s", (_title, body, excerpt) => {
  expect(excerptOf(body)).toBe(excerpt);
});

test("the excerpt leaves out a character that the limit cuts", () => {
  expect(excerptOf(`${"a".repeat(1022)}€`)).toBe("a".repeat(1022));
  expect(excerptOf(`${"a".repeat(1021)}€€`)).toBe(`${"a".repeat(1021)}€`);
});

test("the excerpt joins characters that chunks cut", () => {
  const bytes = Buffer.from("€🚀");
  expect(responseExcerpt([...bytes].map((byte) => Uint8Array.of(byte)))).toBe("€🚀");
});

test("the excerpt is storable text of at most 1,024 characters, whatever the bytes are", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 700 }), { maxLength: 4 }), (chunks) => {
      const excerpt = responseExcerpt(chunks) ?? "";
      expect(excerpt.length).toBeLessThanOrEqual(1024);
      expect(excerpt).toBe(Buffer.from(excerpt, "utf8").toString("utf8"));
      expect(excerpt).not.toMatch(/(?![\t\n\r])\p{Cc}/u);
    }),
  );
});

const NOW = new Date("2026-11-20T12:00:00.500Z");
const QUARTER_HOUR_MS = 900_000;

test.each<[string | undefined, number | null]>([
  ["1", 1_000],
  ["007", 7_000],
  ["900", QUARTER_HOUR_MS],
  ["901", QUARTER_HOUR_MS],
  ["9".repeat(400), QUARTER_HOUR_MS],
  ["Fri, 20 Nov 2026 12:00:30 GMT", 29_500],
  ["Friday, 20-Nov-26 12:00:30 GMT", 29_500],
  ["Fri Nov 20 12:00:30 2026", 29_500],
  ["Fri Dec  4 12:00:00 2026", QUARTER_HOUR_MS],
  ["Sat, 20 Nov 2027 12:00:00 GMT", QUARTER_HOUR_MS],
  ["Fri, 20 Nov 2026 12:00:00 GMT", null],
  ["Fri, 99 Nov 2026 12:00:00 GMT", null],
  ["Fri, 20 Nox 2026 12:00:30 GMT", null],
  ["Fri, 20 Nov 2026 12:00:30 +0200", null],
  ["2026-11-20T12:00:30Z", null],
  ["0", null],
  ["-5", null],
  ["+5", null],
  ["1.5", null],
  ["1e9", null],
  ["0x10", null],
  ["5 s", null],
  ["5, 10", null],
  ["soon", null],
  ["", null],
  [undefined, null],
])("Retry-After %p asks for %p ms", (header, ms) => {
  expect(retryAfterMs(header, NOW)).toBe(ms);
});

test("Retry-After never asks for more than a quarter of an hour, whatever it says", () => {
  const headers = fc.oneof(
    fc.string(),
    fc.bigInt().map(String),
    fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
  );
  fc.assert(
    fc.property(headers, (header) => {
      const ms = retryAfterMs(header, NOW);
      expect(ms === null || (ms > 0 && ms <= QUARTER_HOUR_MS)).toBe(true);
    }),
  );
});

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

test.each([
  ["https://example.com", "example.com", 443, "/", "example.com"],
  ["https://Example.COM:443/A?b=c#d", "example.com", 443, "/A?b=c", "example.com"],
  ["https://example.com:8443/a/../b", "example.com", 8443, "/b", "example.com:8443"],
  ["https://example.com.:8443/", "example.com", 8443, "/", "example.com:8443"],
  [
    "https://münchen.example/häkchen?ü",
    "xn--mnchen-3ya.example",
    443,
    "/h%C3%A4kchen?%C3%BC",
    "xn--mnchen-3ya.example",
  ],
  ["https://0x7f.1/", "127.0.0.1", 443, "/", "127.0.0.1"],
  ["https://[2606:4700::1111]:8443/", "2606:4700::1111", 8443, "/", "[2606:4700::1111]:8443"],
  ["https://[::ffff:10.0.0.1]/", "::ffff:a00:1", 443, "/", "[::ffff:a00:1]"],
])("the target of %s", (url, host, port, path, hostHeader) => {
  const servername = /^\d|:/.test(host) ? "" : host;
  expect(createTargets()(url)).toMatchObject({ host, port, servername, path, hostHeader });
});

test.each(["http://example.com", "https://a@example.com", "https://:b@example.com", "https://", "example.com", ""])(
  "%p is no target",
  (url) => {
    expect(createTargets()(url)).toBeNull();
  },
);

test("a target is made once for each URL", () => {
  const targetOf = createTargets();
  expect(targetOf("https://example.com/a")).toBe(targetOf("https://example.com/a"));
  expect(targetOf("https://example.com/a")).not.toBe(targetOf("https://example.com/b"));
});
