import { randomBytes } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { secretBox } from "./secret-box.ts";

const key = (fill: number) => Buffer.alloc(32, fill).toString("base64");
const endpoint = "5f3c8b1e-7a55-4d0e-9f0c-3a5f0e1d2c4b";

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("expected an error");
}

describe("secret box", () => {
  test("a secret box opens what it sealed, for any text and context", () => {
    const box = secretBox(`k1:${key(1)}`);
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (secret, context) => {
        expect(box.open(box.seal(secret, context), context)).toBe(secret);
      }),
    );
  });

  test("a sealed text is the key's id and ASCII, and shows nothing of the secret", () => {
    const sealed = secretBox(`2026-11:${key(1)}`).seal("very-secret", endpoint);
    expect(sealed).toMatch(/^2026-11\.[A-Za-z0-9_-]+$/);
    expect(Buffer.from(sealed.slice(8), "base64url").toString("latin1")).not.toContain("very");
  });

  test("the same secret never seals to the same text", () => {
    const box = secretBox(`k1:${key(1)}`);
    expect(new Set(Array.from({ length: 1000 }, () => box.seal("s", endpoint)))).toHaveProperty("size", 1000);
  });

  test("a text moved to another row does not open", () => {
    const box = secretBox(`k1:${key(1)}`);
    expect(messageOf(() => box.open(box.seal("s", endpoint), "another"))).toContain("moved from another row");
  });

  test("a text with any bit changed does not open", () => {
    const box = secretBox(`k1:${key(1)}`);
    const bytes = Buffer.from(box.seal("secret", endpoint).slice(3), "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(() => box.open(`k1.${changed.toString("base64url")}`, endpoint)).toThrow("Does not open");
    }
  });

  test("a cut tag does not open, however short GCM would allow it to be", () => {
    const box = secretBox(`k1:${key(1)}`);
    const sealed = box.seal("", endpoint);
    for (let length = 0; length < sealed.length; length++) {
      expect(() => box.open(sealed.slice(0, length), endpoint)).toThrow();
    }
  });

  test("keys rotate: the newest seals, older ones open, and what they sealed can be found", () => {
    const old = secretBox(`k1:${key(1)}`).seal("secret", endpoint);
    const box = secretBox(`k2:${key(2)}, k1:${key(1)}`);
    expect(box.open(old, endpoint)).toBe("secret");
    expect(box.isSealedWithNewest(old)).toBe(false);
    const renewed = box.seal("secret", endpoint);
    expect(box.isSealedWithNewest(renewed)).toBe(true);
    expect(secretBox(`k2:${key(2)}`).open(renewed, endpoint)).toBe("secret");
  });

  test("a key id that starts like another one is another one", () => {
    const sealed = secretBox(`k10:${key(1)}`).seal("secret", endpoint);
    expect(secretBox(`k1:${key(1)}`).isSealedWithNewest(sealed)).toBe(false);
  });

  test("a missing key is named", () => {
    const sealed = secretBox(`k1:${key(1)}`).seal("secret", endpoint);
    expect(messageOf(() => secretBox(`k2:${key(2)}`).open(sealed, endpoint))).toContain('key "k1"');
  });

  test("another key under the same id does not open, and the error says so", () => {
    const sealed = secretBox(`k1:${key(1)}`).seal("secret", endpoint);
    expect(messageOf(() => secretBox(`k1:${key(2)}`).open(sealed, endpoint))).toContain("another one than at sealing");
  });

  test.each(["", "k1", "k1.", ".AAAA", "no sealed text", `k1.${"A".repeat(20)}`])("%p is no sealed text", (text) => {
    expect(messageOf(() => secretBox(`k1:${key(1)}`).open(text, endpoint))).toContain("no sealed text");
  });
});

describe("setting SECRET_KEYS", () => {
  test.each([
    ["", "SECRET_KEYS is empty"],
    [" , ", "SECRET_KEYS is empty"],
    [key(9), "pair 1 has no id"],
    [`k1:${key(1)},${key(9)}`, "pair 2 has no id"],
    [`:${key(9)}`, "the id of pair 1"],
    [`a b:${key(9)}`, "the id of pair 1"],
    [`a.b:${key(9)}`, "the id of pair 1"],
    [`${"k".repeat(33)}:${key(9)}`, "the id of pair 1"],
    ["k1:", 'key "k1" is not Base64'],
    [`k1:${key(9).replace("J", "!")}`, 'key "k1" is not Base64'],
    [`k1:${randomBytes(16).toString("base64")}`, 'key "k1" has 16 bytes instead of 32'],
    [`k1:${randomBytes(33).toString("base64")}`, 'key "k1" has 33 bytes instead of 32'],
    [`k1:${key(1)},k1:${key(9)}`, 'the id "k1" is there twice'],
  ])("SECRET_KEYS number %# is refused with what is wrong", (setting, problem) => {
    const message = messageOf(() => secretBox(setting));
    expect(message).toContain(problem);
    expect(message).toContain("openssl rand -base64 32");
  });

  test("an error lists every problem of SECRET_KEYS at once, and never a key", () => {
    const stray = randomBytes(32).toString("base64");
    const message = messageOf(() => secretBox(`${stray},k1:${stray.slice(4)},k2:${stray}!`));
    expect(message).toMatch(/pair 1.*key "k1".*key "k2"/);
    expect(message).not.toContain(stray.slice(4, 20));
  });

  test("SECRET_KEYS takes Base64url and surrounding spaces too", () => {
    const url = Buffer.alloc(32, 0xfb).toString("base64url");
    const box = secretBox(` a:${url} ,\n b:${key(1)} `);
    expect(box.open(box.seal("s", endpoint), endpoint)).toBe("s");
  });
});
