import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { responseExcerpt, retryAfterMs } from "./response.ts";

const excerptOf = (...chunks: (string | number[])[]) =>
  responseExcerpt(chunks.map((chunk) => Buffer.from(chunk as string)));

describe("response excerpt", () => {
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
});

const NOW = new Date("2026-11-20T12:00:00.500Z");
const QUARTER_HOUR_MS = 900_000;

describe("Retry-After", () => {
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
});
