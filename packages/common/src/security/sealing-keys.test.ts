import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { newSealingKeys, readSealingKey, readSecretKeys, sealingKeyOf } from "./sealing-keys.ts";
import { secretBox, secretSealer } from "./secret-box.ts";

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

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("expected an error");
}

describe("setting SECRET_KEYS", () => {
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
});

describe("setting SECRET_SEALING_KEY", () => {
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

  test("the public key of the newest private one can be told again", () => {
    const next = newSealingKeys("k2");
    const sealingKey = sealingKeyOf(`${next.SECRET_KEYS},${pair.SECRET_KEYS}`);
    expect(sealingKey).toBe(next.SECRET_SEALING_KEY);
    expect(secretBox(next.SECRET_KEYS).open(secretSealer(sealingKey).seal("s", "context"), "context")).toBe("s");
  });
});
