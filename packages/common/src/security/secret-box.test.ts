import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { newSealingKeys, readSealingKey, readSecretKeys, sealingKeyOf } from "./sealing-keys.ts";
import { secretBox, secretSealer } from "./secret-box.ts";

const [first, second] = [newSealingKeys("k1"), newSealingKeys("k2")];
const box = secretBox(first.SECRET_KEYS);
const sealer = secretSealer(first.SECRET_SEALING_KEY);
const endpoint = "5f3c8b1e-7a55-4d0e-9f0c-3a5f0e1d2c4b";

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("expected an error");
}

test("a private key opens what was sealed to its public key, for any text and context", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (secret, context) => {
      expect(box.open(sealer.seal(secret, context), context)).toBe(secret);
      expect(box.open(box.seal(secret, context), context)).toBe(secret);
    }),
  );
});

test("a process that has only the public key can seal, and can't open", () => {
  expect(Object.keys(sealer)).toEqual(["seal"]);
  expect(messageOf(() => secretBox(first.SECRET_SEALING_KEY))).toContain('key "k1" is no X25519 private key');
});

test("a sealed text is the key's id and ASCII, and shows nothing of the secret", () => {
  const sealed = secretSealer(newSealingKeys("2026-11").SECRET_SEALING_KEY).seal("very-secret", endpoint);
  expect(sealed).toMatch(/^2026-11\.[A-Za-z0-9_-]+$/);
  expect(Buffer.from(sealed.slice(8), "base64url").toString("latin1")).not.toContain("very");
});

test("the same secret never seals to the same text, and never with the same ephemeral key", () => {
  const beginnings = Array.from({ length: 1000 }, () => sealer.seal("s", endpoint).slice(0, 3 + 43));
  expect(new Set(beginnings)).toHaveProperty("size", 1000);
});

test("a text moved to another row does not open", () => {
  expect(messageOf(() => box.open(sealer.seal("s", endpoint), "another"))).toContain("moved from another row");
});

test("a text with any bit changed does not open: of the ephemeral key, the ciphertext or the tag", () => {
  const bytes = Buffer.from(sealer.seal("secret", endpoint).slice(3), "base64url");
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
    expect(() => box.open(`k1.${changed.toString("base64url")}`, endpoint)).toThrow("Does not open");
  }
});

test("an ephemeral key of low order, with which all senders would have the same key, does not open", () => {
  const bytes = Buffer.from(sealer.seal("secret", endpoint).slice(3), "base64url");
  for (const byte of [0, 1]) {
    const changed = Buffer.concat([Buffer.from([byte]), Buffer.alloc(31), bytes.subarray(32)]);
    expect(() => box.open(`k1.${changed.toString("base64url")}`, endpoint)).toThrow("Does not open");
  }
});

test("a cut tag does not open, however short GCM would allow it to be", () => {
  const sealed = sealer.seal("", endpoint);
  for (let length = 0; length < sealed.length; length++) {
    expect(() => box.open(sealed.slice(0, length), endpoint)).toThrow();
  }
});

test("keys rotate: a box seals to the newest, older ones open, and what they sealed can be found", () => {
  const old = sealer.seal("secret", endpoint);
  const both = secretBox(`${second.SECRET_KEYS}, ${first.SECRET_KEYS}`);
  expect(both.open(old, endpoint)).toBe("secret");
  expect(both.isSealedWithNewest(old)).toBe(false);
  const renewed = both.seal("secret", endpoint);
  expect(both.isSealedWithNewest(renewed)).toBe(true);
  expect(both.isSealedWithNewest(secretSealer(second.SECRET_SEALING_KEY).seal("secret", endpoint))).toBe(true);
  expect(secretBox(second.SECRET_KEYS).open(renewed, endpoint)).toBe("secret");
});

test("a key id that starts like another one is another one", () => {
  const sealed = secretBox(newSealingKeys("k10").SECRET_KEYS).seal("secret", endpoint);
  expect(box.isSealedWithNewest(sealed)).toBe(false);
});

test("a missing key is named", () => {
  const sealed = sealer.seal("secret", endpoint);
  expect(messageOf(() => secretBox(second.SECRET_KEYS).open(sealed, endpoint))).toContain('key "k1"');
});

test("another key under the same id does not open, and the error says so", () => {
  const other = secretBox(newSealingKeys("k1").SECRET_KEYS);
  expect(messageOf(() => other.open(sealer.seal("secret", endpoint), endpoint))).toContain(
    "another one than at sealing",
  );
});

test.each(["", "k1", "k1.", ".AAAA", "no sealed text", `k1.${"A".repeat(63)}`])("%p is no sealed text", (text) => {
  expect(messageOf(() => box.open(text, endpoint))).toContain("no sealed text");
});

/** The key of a setting, without its id. */
const keyOf = (pair: string) => pair.slice(pair.indexOf(":") + 1);
const pair = newSealingKeys("k1");
const [key, publicKey] = [keyOf(pair.SECRET_KEYS), keyOf(pair.SECRET_SEALING_KEY)];
const ed25519 = generateKeyPairSync("ed25519");
const otherKind = {
  key: ed25519.privateKey.export({ format: "der", type: "pkcs8" }).toString("base64"),
  publicKey: ed25519.publicKey.export({ format: "der", type: "spki" }).toString("base64"),
};
/** The last 32 bytes are the key: a point that has the same shared secret with every private key. */
const lowOrder = Buffer.concat([Buffer.from(publicKey, "base64").subarray(0, 12), Buffer.alloc(32)]).toString("base64");

test.each([
  ["", "SECRET_KEYS is empty"],
  [" , ", "SECRET_KEYS is empty"],
  [key, "pair 1 has no id"],
  [`k1:${key},${key}`, "pair 2 has no id"],
  [`:${key}`, "the id of pair 1"],
  [`a b:${key}`, "the id of pair 1"],
  [`a.b:${key}`, "the id of pair 1"],
  [`${"k".repeat(33)}:${key}`, "the id of pair 1"],
  ["k1:", 'key "k1" is not Base64'],
  [`k1:${key}!`, 'key "k1" is not Base64'],
  [`k1:${key.slice(0, -8)}`, 'key "k1" is no X25519 private key'],
  [`k1:${Buffer.alloc(32, 7).toString("base64")}`, 'key "k1" is no X25519 private key'],
  [`k1:${publicKey}`, 'key "k1" is no X25519 private key'],
  [`k1:${otherKind.key}`, 'key "k1" is no X25519 private key'],
  [`k1:${key},k1:${key}`, 'the id "k1" is there twice'],
])("SECRET_KEYS number %# is refused with what is wrong", (setting, problem) => {
  const message = messageOf(() => readSecretKeys(setting));
  expect(message).toContain(problem);
  expect(message).toContain("herald keys make");
});

test("an error lists every problem of SECRET_KEYS at once, and never a key", () => {
  const message = messageOf(() => readSecretKeys(`${key},k1:${key.slice(4)},k2:${publicKey}`));
  expect(message).toMatch(/pair 1.*key "k1".*key "k2"/);
  for (const each of [key, publicKey]) expect(message).not.toContain(each.slice(24, 40));
});

test("SECRET_KEYS takes Base64url and surrounding spaces too, and keeps the order", () => {
  const url = Buffer.from(key, "base64").toString("base64url");
  const [newest, ...older] = readSecretKeys(` a:${url} ,\n b:${key} `);
  expect([newest.id, ...older.map(({ id }) => id)]).toEqual(["a", "b"]);
  const box = secretBox(` a:${url} ,\n b:${key} `);
  expect(box.open(box.seal("s", "context"), "context")).toBe("s");
});

test.each([
  ["", "it has no id"],
  [publicKey, "it has no id"],
  [`a b:${publicKey}`, "the id of it"],
  ["k1:", 'key "k1" is not Base64'],
  [`k1:${publicKey.slice(0, -8)}`, 'key "k1" is no X25519 public key'],
  [`k1:${Buffer.alloc(32, 7).toString("base64")}`, 'key "k1" is no X25519 public key'],
  [`k1:${otherKind.publicKey}`, 'key "k1" is no X25519 public key'],
  [`k1:${lowOrder}`, 'key "k1" is no X25519 public key'],
  [pair.SECRET_KEYS, 'key "k1" is a private one'],
  [`${pair.SECRET_SEALING_KEY},${newSealingKeys("k2").SECRET_SEALING_KEY}`, 'key "k1" is not Base64'],
])("SECRET_SEALING_KEY number %# is refused with what is wrong, and shows no key", (setting, problem) => {
  const message = messageOf(() => readSealingKey(setting));
  expect(message).toContain(problem);
  expect(message).toContain("herald keys make");
  for (const each of [key, publicKey]) expect(message).not.toContain(each.slice(24, 40));
});

test("the keys are X25519 in the forms that others write: a pair of RFC 7748", () => {
  const bob = "302e020100300506032b656e042204205dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb";
  expect(sealingKeyOf(`bob:${Buffer.from(bob, "hex").toString("base64")}`)).toBe(
    "bob:MCowBQYDK2VuAyEA3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=",
  );
});

test("the public key of the newest private one can be made again", () => {
  const next = newSealingKeys("k2");
  const sealingKey = sealingKeyOf(`${next.SECRET_KEYS},${pair.SECRET_KEYS}`);
  expect(sealingKey).toBe(next.SECRET_SEALING_KEY);
  expect(secretBox(next.SECRET_KEYS).open(secretSealer(sealingKey).seal("s", "context"), "context")).toBe("s");
});
