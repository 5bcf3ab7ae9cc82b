import {
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";

/** Says what is wrong with keys or a sealed text; never holds a key or a secret. */
export class SecretBoxError extends Error {
  override name = "SecretBoxError";
}

/** SECRET_KEYS has no key that opens the text: none under the id that the text names, or another one. */
export class KeyError extends SecretBoxError {
  override name = "KeyError";
  readonly keyId: string;

  constructor(keyId: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.keyId = keyId;
  }
}

/** A key, and the id that each text names which is sealed to it. */
export interface NamedKey {
  id: string;
  key: KeyObject;
}

export const KEY_ID = /^[A-Za-z0-9_-]{1,32}$/;
const HOW_TO = 'write it as "id:key", as herald keys make prints it';

/**
 * A new pair, as the two settings have its halves: the private key opens, the public key seals and is no secret. An id must stay with its pair for as
 * long as anything is sealed to it.
 * @param name the id, or what makes it from the beginning of the public key's hash
 */
export function newSealingKeys(name: string | ((hash: string) => string)) {
  const { privateKey, publicKey } = generateKeyPairSync("x25519");
  const id = typeof name === "string" ? name : name(hashOf(publicKey));
  return {
    SECRET_KEYS: `${id}:${privateKey.export({ format: "der", type: "pkcs8" }).toString("base64")}`,
    SECRET_SEALING_KEY: textOf({ id, key: publicKey }),
  };
}

/** The value of `SECRET_SEALING_KEY` that belongs to the newest key of `SECRET_KEYS`. @throws SecretBoxError */
export function sealingKeyOf(secretKeys: string): string {
  const [newest] = readSecretKeys(secretKeys);
  return textOf({ id: newest.id, key: createPublicKey(newest.key) });
}

/**
 * Reads the setting `SECRET_KEYS`: `id:key` pairs separated by commas, newest first. An id is 1 to 32 letters, digits, `-` or
 * `_`; a key is an X25519 private key, PKCS#8 in DER, as Base64. The form says which half of a pair it is, so that one can't be
 * taken for the other.
 * @throws SecretBoxError that names every bad pair by its position and id
 */
export function readSecretKeys(setting: string): [NamedKey, ...NamedKey[]] {
  const ring: NamedKey[] = [];
  const problems: string[] = [];
  for (const [index, pair] of setting.split(",").entries()) {
    if (pair.trim() === "") continue;
    const read = readPair(pair, `pair ${index + 1}`);
    if (typeof read === "string") {
      problems.push(read);
      continue;
    }
    const { id, bytes } = read;
    const key = privateKeyOf(bytes);
    if (ring.some((other) => other.id === id)) problems.push(`the id "${id}" is there twice`);
    else if (key === undefined) problems.push(`key "${id}" is no X25519 private key (PKCS#8 in DER, as Base64)`);
    else ring.push({ id, key });
  }
  if (problems.length > 0) throw new SecretBoxError(`SECRET_KEYS: ${problems.join("; ")}; ${HOW_TO}`);
  const [newest, ...older] = ring;
  if (newest === undefined) throw new SecretBoxError(`SECRET_KEYS is empty: ${HOW_TO}`);
  return [newest, ...older];
}

/** Reads the setting `SECRET_SEALING_KEY`: one `id:key`, an X25519 public key, SPKI in DER, as Base64. @throws SecretBoxError */
export function readSealingKey(setting: string): NamedKey {
  const refuse = (problem: string) => new SecretBoxError(`SECRET_SEALING_KEY: ${problem}; ${HOW_TO}`);
  const read = readPair(setting, "it");
  if (typeof read === "string") throw refuse(read);
  const { id, bytes } = read;
  if (privateKeyOf(bytes) !== undefined) {
    throw refuse(`key "${id}" is a private one, which only SECRET_KEYS may hold; its public key belongs here`);
  }
  const key = publicKeyOf(bytes);
  if (key === undefined) throw refuse(`key "${id}" is no X25519 public key (SPKI in DER, as Base64)`);
  return { id, key };
}

/** Distinguishes a pair from others, and is no secret: its id, and the beginning of its public key's hash. */
export function keyMark({ id, key }: NamedKey): string {
  return `${id} (${hashOf(key)})`;
}

function hashOf(publicKey: KeyObject): string {
  const der = publicKey.export({ format: "der", type: "spki" });
  return createHash("sha256").update(der).digest("hex").slice(0, 8);
}

/** Takes an `id:key` apart, or says what is wrong with it. */
function readPair(given: string, called: string): { id: string; bytes: Buffer } | string {
  const pair = given.trim();
  const colon = pair.indexOf(":");
  // Without a colon the whole may be a key: it must not be shown.
  if (colon === -1) return `${called} has no id`;
  const id = pair.slice(0, colon);
  if (!KEY_ID.test(id)) return `the id of ${called} is not 1 to 32 letters, digits, "-" or "_"`;
  const text = pair.slice(colon + 1);
  // Buffer skips what is not Base64, so a mistyped key would silently become another one.
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return `key "${id}" is not Base64`;
  return { id, bytes: Buffer.from(text, "base64") };
}

/** Undefined where it is none. OpenSSL's words are of no use to an operator, and its error may hold what was read. */
function privateKeyOf(bytes: Buffer): KeyObject | undefined {
  return x25519Only(() => createPrivateKey({ key: bytes, format: "der", type: "pkcs8" }));
}

function publicKeyOf(bytes: Buffer): KeyObject | undefined {
  return x25519Only(() => {
    const publicKey = createPublicKey({ key: bytes, format: "der", type: "spki" });
    // OpenSSL refuses a key of low order, with which all senders would share the same secret, and does so only here.
    diffieHellman({ privateKey: generateKeyPairSync("x25519").privateKey, publicKey });
    return publicKey;
  });
}

function x25519Only(read: () => KeyObject): KeyObject | undefined {
  try {
    const key = read();
    return key.asymmetricKeyType === "x25519" ? key : undefined;
  } catch {
    return undefined;
  }
}

function textOf({ id, key }: NamedKey): string {
  return `${id}:${key.export({ format: "der", type: "spki" }).toString("base64")}`;
}
