import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from "node:crypto";
import { KEY_ID, KeyError, type NamedKey, readSealingKey, readSecretKeys, SecretBoxError } from "./sealing-keys.ts";

export type SecretSealer = ReturnType<typeof secretSealer>;
export type SecretBox = ReturnType<typeof secretBox>;

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
// GCM is made for 96 bits; it hashes any other length down to that.
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const PUBLIC_KEY_BYTES = 32;
/** Keeps the keys that are made here apart from all others that the same pair could ever be used for. */
const PURPOSE = "herald signing secret, 1";

/**
 * Makes secrets unreadable for the database, and for itself: it has a public key only. A sealed text is bound to its context (the
 * id of the row it belongs to, and the name of a header): moved to another row it does not open.
 * @throws SecretBoxError
 */
export function secretSealer(sealingKey: string) {
  const recipient = readSealingKey(sealingKey);
  return { seal: (plaintext: string, context: string) => sealTo(recipient, plaintext, context) };
}

/** Has the private keys of `SECRET_KEYS`: it opens too, and seals to the public key of the newest. @throws SecretBoxError as `readSecretKeys` */
export function secretBox(keys: string) {
  const named = readSecretKeys(keys);
  const ring = new Map(named.map(({ id, key }) => [id, { privateKey: key, publicKey: createPublicKey(key) }]));
  const newest = { id: named[0].id, key: createPublicKey(named[0].key) };

  return {
    seal: (plaintext: string, context: string) => sealTo(newest, plaintext, context),

    /** @throws KeyError if the key is missing from the ring or another one, or the text was changed or belongs to another context */
    open(sealed: string, context: string): string {
      const keyId = keyIdOf(sealed);
      const bytes = Buffer.from(sealed.slice(keyId.length + 1), "base64url");
      if (!KEY_ID.test(keyId) || bytes.length < PUBLIC_KEY_BYTES + TAG_BYTES) {
        throw new SecretBoxError("This is no sealed text: a key id, a dot and Base64url were expected");
      }
      const pair = ring.get(keyId);
      if (pair === undefined) {
        throw new KeyError(
          keyId,
          `Sealed to key "${keyId}", which SECRET_KEYS does not hold: put that key back, after the newest`,
        );
      }
      try {
        const ephemeral = bytes.subarray(0, PUBLIC_KEY_BYTES);
        const shared = diffieHellman({ privateKey: pair.privateKey, publicKey: publicKeyFrom(ephemeral) });
        const { key, nonce } = derive(shared, ephemeral, bytesOf(pair.publicKey));
        const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
        decipher.setAAD(Buffer.from(context));
        decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
        const ciphertext = bytes.subarray(PUBLIC_KEY_BYTES, -TAG_BYTES);
        return decipher.update(ciphertext, undefined, "utf8") + decipher.final("utf8");
      } catch (cause) {
        throw new KeyError(
          keyId,
          `Does not open with key "${keyId}": the key under this id is another one than at sealing, ` +
            "or the sealed text was changed or moved from another row",
          { cause },
        );
      }
    },

    /** False if the text should be sealed again, so that older keys can leave the ring. */
    isSealedWithNewest: (sealed: string) => sealed.startsWith(`${newest.id}.`),
  };
}

/** The id of the key that a text is sealed to; empty if it is no sealed text. */
export const keyIdOf = (sealed: string): string => sealed.slice(0, Math.max(sealed.indexOf("."), 0));

/** The bytes of UTF-8 that a sealed text was made of. */
export function plaintextBytes(sealed: string): number {
  const bytes = Buffer.from(sealed.slice(sealed.indexOf(".") + 1), "base64url");
  return bytes.length - PUBLIC_KEY_BYTES - TAG_BYTES;
}

/** Seals a text to plain ASCII: `<key id>.<Base64url of an ephemeral public key, ciphertext and tag>`. The ephemeral private key is not kept, so a process that sealed can't open. */
function sealTo(recipient: NamedKey, plaintext: string, context: string): string {
  const { privateKey, publicKey } = generateKeyPairSync("x25519");
  const ephemeral = bytesOf(publicKey);
  const shared = diffieHellman({ privateKey, publicKey: recipient.key });
  const { key, nonce } = derive(shared, ephemeral, bytesOf(recipient.key));
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(context));
  const ciphertext = Buffer.concat([cipher.update(plaintext, "utf8"), cipher.final()]);
  return `${recipient.id}.${Buffer.concat([ephemeral, ciphertext, cipher.getAuthTag()]).toString("base64url")}`;
}

/**
 * The key and the nonce of one sealed text. Both public keys go in, so that a text belongs to its recipient, and no second form of an
 * ephemeral key makes the same key. The nonce needs no chance of its own, since no other text has this key.
 */
function derive(shared: Buffer, ephemeral: Buffer, recipient: Buffer): { key: Buffer; nonce: Buffer } {
  const salt = Buffer.concat([ephemeral, recipient]);
  const bytes = Buffer.from(hkdfSync("sha256", shared, salt, PURPOSE, KEY_BYTES + NONCE_BYTES));
  return { key: bytes.subarray(0, KEY_BYTES), nonce: bytes.subarray(KEY_BYTES) };
}

/** A public key's own bytes, which are the last of its DER. */
function bytesOf(publicKey: KeyObject): Buffer {
  return publicKey.export({ format: "der", type: "spki" }).subarray(-PUBLIC_KEY_BYTES);
}

function publicKeyFrom(bytes: Buffer): KeyObject {
  return createPublicKey({ key: { kty: "OKP", crv: "X25519", x: bytes.toString("base64url") }, format: "jwk" });
}

/** The own headers of an endpoint as its row has them: names, and values that are sealed one by one, so that an edit can keep some. */
export type SealedHeaders = Readonly<Record<string, string>>;

/** What the value of a header is sealed for: it opens under no other name or endpoint, and no signing secret opens as one. */
export function headerContext(endpointId: string, name: string): string {
  return `${endpointId} header ${name}`;
}
