import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { expectedSignature, judgeSignature, receiverCode } from "./signature.ts";

const signed = {
  secret: "3q2+7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  timestamp: "1795183402",
  body: '{"id":"1",  "name":"Übergröße"}',
};
const { secret, timestamp, body } = signed;
const hmac = (key: string | Buffer, message: string): string => createHmac("sha256", key).update(message).digest("hex");
const right = hmac(secret, `${timestamp}.${body}`);

test("§4.3 the expected header is made of timestamp, dot and raw body with the literal secret", async () => {
  expect(await expectedSignature(signed)).toBe(`sha256=${right}`);
  expect(await expectedSignature(signed)).toHaveLength(71);
});

test.each([`sha256=${right}`, right, ` sha256=${right}\n`])("§4.3 %j is the right one", async (got) => {
  expect(await judgeSignature(got, signed)).toEqual({ is: "match" });
});

test.each([
  [`sha256=${right.toUpperCase()}`, "lowercase"],
  [Buffer.from(right, "hex").toString("base64"), "lowercase hexadecimal"],
  [hmac(Buffer.from(secret, "base64"), `${timestamp}.${body}`), "decoded from Base64"],
  [hmac(`${secret}\n`, `${timestamp}.${body}`), "line break"],
  [hmac(secret, body), "Only the body was signed"],
  [hmac(secret, timestamp + body), "no dot"],
  [hmac(secret, `${timestamp}.${body}\n`), "added at its end"],
  [hmac(secret, `${timestamp}.${JSON.stringify(JSON.parse(body))}`), "keep the raw bytes"],
  [hmac(secret, `${timestamp}.{"id": "1", "name": "Übergröße"}`), "keep the raw bytes"],
  [hmac(secret, `${timestamp}.{"id": "1", "name": "\\u00dcbergr\\u00f6\\u00dfe"}`), "keep the raw bytes"],
  [hmac(Buffer.from(secret, "base64"), body), "decoded from Base64: the key is its literal text. Only the body"],
  ["a".repeat(40), "SHA-1"],
  ["a".repeat(128), "SHA-512"],
  ["hello", "no SHA-256 digest"],
])("a receiver's usual mistake is recognized: %s", async (got, words) => {
  const verdict = await judgeSignature(got, signed);
  expect(verdict.is === "mistake" && verdict.mistake).toContain(words);
});

test("another secret explains itself by nothing that was sent", async () => {
  expect(await judgeSignature(hmac("another", `${timestamp}.${body}`), signed)).toEqual({ is: "unknown" });
});

// Files of "?raw" are the bundler's to import, so the list is read here.
const list = readFileSync(fileURLToPath(new URL("./ReceiverCode.tsx", import.meta.url)), "utf8");
const files = [...list.matchAll(/from "(.+)\?raw"/g)].map(([, file = ""]) => file);

test("the page shows eight receivers", () => {
  expect(files).toHaveLength(8);
});

test.each(files)("the receiver in %s names this Herald's headers", (file) => {
  const example = readFileSync(fileURLToPath(new URL(file, import.meta.url)), "utf8");
  const code = receiverCode(example, "Acme-Hook");
  expect(code).toMatch(/acme-hook-signature|`acme-hook-\$/i);
  expect(code).not.toMatch(/x-service/i);
});
