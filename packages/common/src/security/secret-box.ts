import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  type KeyObject,
  randomBytes as systemRandomBytes,
} from "node:crypto";
import type { RandomBytes } from "./signature.ts";

/**
 * Keeps secrets unreadable in the database. A sealed text is bound to its context (the id of the row it belongs to):
 * moved to another row it does not open.
 */
export interface SecretBox {
  /** Seals with the newest key. The result is plain ASCII: `<key id>.<Base64url of nonce, ciphertext and tag>`. */
  seal(plaintext: string, context: string): string;
  /**
   * @throws SecretBoxError where the key is missing from the ring, or the text was changed or belongs to another context
   */
  open(sealed: string, context: string): string;
  /** False for what should be sealed again, so that older keys can leave the ring. */
  isSealedWithNewest(sealed: string): boolean;
}

/** Says what is wrong with the key ring or a sealed text; never holds a key or a secret. */
export class SecretBoxError extends Error {
  override name = "SecretBoxError";
}

const ALGORITHM = "aes-256-gcm";
const KEY_BYTES = 32;
// GCM is made for 96 bits; it hashes any other length down to that. Random nonces are safe for 2^32 seals per key.
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID = /^[A-Za-z0-9_-]{1,32}$/;
const HOW_TO = 'write it as "id:key,id:key", newest first, each key 32 bytes in Base64 (openssl rand -base64 32)';

/**
 * @param keys the setting `SECRET_KEYS`: `id:key` pairs separated by commas, newest first. An id is 1 to 32 letters,
 *   digits, `-` or `_`, and must stay with its key for as long as anything is sealed with it.
 * @throws SecretBoxError that names every bad pair by its position and id
 */
export function secretBox(keys: string, randomBytes: RandomBytes = systemRandomBytes): SecretBox {
  const ring = parseKeyRing(keys);
  const [newest] = ring;
  if (!newest) throw new SecretBoxError(`SECRET_KEYS is empty: ${HOW_TO}`);
  const [newestId, newestKey] = newest;

  return {
    seal(plaintext, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, newestKey, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(context));
      const ciphertext = Buffer.concat([cipher.update(plaintext, "utf8"), cipher.final()]);
      return `${newestId}.${Buffer.concat([nonce, ciphertext, cipher.getAuthTag()]).toString("base64url")}`;
    },

    open(sealed, context) {
      const dot = sealed.indexOf(".");
      const keyId = sealed.slice(0, Math.max(dot, 0));
      const bytes = Buffer.from(sealed.slice(dot + 1), "base64url");
      if (!KEY_ID.test(keyId) || bytes.length < NONCE_BYTES + TAG_BYTES) {
        throw new SecretBoxError("This is no sealed text: a key id, a dot and Base64url were expected");
      }
      const key = ring.get(keyId);
      if (!key) {
        throw new SecretBoxError(
          `Sealed with key "${keyId}", which SECRET_KEYS does not hold: put that key back, after the newest`,
        );
      }
      try {
        const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
        decipher.setAAD(Buffer.from(context));
        decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
        const ciphertext = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
        return decipher.update(ciphertext, undefined, "utf8") + decipher.final("utf8");
      } catch (cause) {
        throw new SecretBoxError(
          `Does not open with key "${keyId}": the key under this id is another one than at sealing, ` +
            "or the sealed text was changed or moved from another row",
          { cause },
        );
      }
    },

    isSealedWithNewest: (sealed) => sealed.startsWith(`${newestId}.`),
  };
}

/** In a Map the order of insertion stays: the first key is the newest. */
function parseKeyRing(keys: string): Map<string, KeyObject> {
  const ring = new Map<string, KeyObject>();
  const problems: string[] = [];
  const pairs = keys.split(",").map((pair) => pair.trim());
  pairs.forEach((pair, index) => {
    if (pair === "") return;
    const colon = pair.indexOf(":");
    // Without a colon the whole pair may be a key: it must not be shown.
    if (colon === -1) {
      problems.push(`pair ${index + 1} has no id`);
      return;
    }
    const id = pair.slice(0, colon);
    const text = pair.slice(colon + 1);
    const bytes = Buffer.from(text, "base64");
    if (!KEY_ID.test(id)) problems.push(`the id of pair ${index + 1} is not 1 to 32 letters, digits, "-" or "_"`);
    else if (ring.has(id)) problems.push(`the id "${id}" is there twice`);
    // Buffer skips what is not Base64, so a mistyped key would silently become a shorter one.
    else if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) problems.push(`key "${id}" is not Base64`);
    else if (bytes.length !== KEY_BYTES) problems.push(`key "${id}" has ${bytes.length} bytes instead of ${KEY_BYTES}`);
    else ring.set(id, createSecretKey(bytes));
  });
  if (problems.length > 0) throw new SecretBoxError(`SECRET_KEYS: ${problems.join("; ")}; ${HOW_TO}`);
  return ring;
}
