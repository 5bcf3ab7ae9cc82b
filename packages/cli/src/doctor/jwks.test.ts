import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { expect, test } from "@jest/globals";
import { keysFinding } from "./jwks.ts";

const jwkOf = (kind: "rsa" | "ec" | "ed25519" | "x25519", bits = 2048) => {
  const options = { modulusLength: bits, namedCurve: "P-256" };
  // biome-ignore lint/suspicious/noExplicitAny: its overloads go by the kind, each with other options.
  const { publicKey } = generateKeyPairSync(kind as any, options as any) as unknown as { publicKey: KeyObject };
  return publicKey.export({ format: "jwk" });
};
const judge = (keys: unknown, status = 200) => {
  const { what, remedy, ...rest } = keysFinding({ host: "identity", status, text: JSON.stringify({ keys }) });
  return { ...rest, words: `${what} ${remedy}` };
};

test("keys that tokens can be verified with are counted", () => {
  const keys = [jwkOf("rsa"), { ...jwkOf("ec"), use: "sig" }, jwkOf("ed25519"), { ...jwkOf("ec"), use: "enc" }];
  expect(judge(keys)).toMatchObject({ status: "ok", words: expect.stringContaining("identity has 3 keys") });
});

test.each([
  ["none at all", []],
  ["one for encryption", [{ ...jwkOf("rsa"), use: "enc" }]],
  ["a short one", [jwkOf("rsa", 1024)]],
  ["one that signs nothing", [jwkOf("x25519")]],
  ["a shared secret", [{ kty: "oct", k: "c2VjcmV0" }]],
  ["a broken one", [{ kty: "RSA", n: "x" }, "text"]],
])("a provider without a usable key is a fault: %s", (_what, keys) => {
  expect(judge(keys)).toMatchObject({
    status: "fault",
    words: expect.stringMatching(/none that tokens.*Have the provider sign/),
  });
});

test("an answer that is no key set is a fault that names where the address stands", () => {
  const expected = { status: "fault", words: expect.stringContaining("openid-configuration") };
  expect(judge([], 404)).toMatchObject(expected);
  expect(judge(undefined)).toMatchObject(expected);
  expect(keysFinding({ host: "identity", status: 200, text: "<html>" }).status).toBe("fault");
});
