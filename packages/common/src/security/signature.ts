import { createHmac, randomBytes } from "node:crypto";

/** The body as it goes over the wire; text is taken as UTF-8. */
export type SignedBody = string | Uint8Array;

/** Bytes behind a signing secret: as many as the HMAC's digest, more would not make it stronger. */
const SECRET_BYTES = 32;

/**
 * The value of the signature header (SPEC 4.3): `sha256=` and 64 lowercase hexadecimal characters, 71 in all.
 *
 * The key is the secret's literal text. It looks like Base64 and is deliberately not decoded.
 * @param timestampText the very text of the timestamp header
 * @param body the very bytes that are sent
 */
export function serviceSignature(secret: string, timestampText: string, body: SignedBody): string {
  return `sha256=${createHmac("sha256", secret).update(`${timestampText}.`).update(body).digest("hex")}`;
}

/**
 * The value of `webhook-signature` as the Standard Webhooks libraries verify it: `v1,` and the Base64 of the HMAC over
 * id, timestamp and body. Those libraries decode the secret from Base64 first, so the same secret text makes another
 * key here than in {@link serviceSignature}.
 * @param id the very text of `webhook-id`
 * @param timestampText the very text of `webhook-timestamp`
 */
export function standardWebhooksSignature(secret: string, id: string, timestampText: string, body: SignedBody): string {
  // Node decodes the key: one that comes as bytes costs it 50 us, since it is first asked, in vain, whether it is one of two kinds of objects.
  const hmac = createHmac("sha256", secret, { encoding: "base64" });
  return `v1,${hmac.update(`${id}.${timestampText}.`).update(body).digest("base64")}`;
}

/** A new signing secret: 32 random bytes as 44 characters of Base64 text (SPEC 2.3). */
export function newSigningSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64");
}
