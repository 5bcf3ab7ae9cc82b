import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { responseExcerpt } from "./response-excerpt.ts";

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
  ])("of %s", (_title, body, excerpt) => {
    expect(excerptOf(body)).toBe(excerpt);
  });

  test("leaves out a character that the limit cuts", () => {
    expect(excerptOf(`${"a".repeat(1022)}€`)).toBe("a".repeat(1022));
    expect(excerptOf(`${"a".repeat(1021)}€€`)).toBe(`${"a".repeat(1021)}€`);
  });

  test("joins characters that chunks cut", () => {
    const bytes = Buffer.from("€🚀");
    expect(responseExcerpt([...bytes].map((byte) => Uint8Array.of(byte)))).toBe("€🚀");
  });

  test("is storable text of at most 1,024 characters, whatever comes", () => {
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
