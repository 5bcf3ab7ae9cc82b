import { createPublicKey, createSecretKey, type KeyObject } from "node:crypto";
import { ConfigError } from "@herald/common/config/read-config";
import type { JWTVerifyGetKey } from "jose";
import { remoteKeys } from "./remote-keys.ts";
import type { AuthenticationConfig } from "./settings.ts";

/** What tokens are verified with. */
export interface Keys {
  keyOf: JWTVerifyGetKey;
  /** Accepted `alg` values: a token must not choose how it is verified (a public key is no HMAC secret). */
  algorithms: string[];
}

const RSA_PSS = ["PS256", "PS384", "PS512"];
const RSA = ["RS256", "RS384", "RS512", ...RSA_PSS];
const ED25519 = ["EdDSA", "Ed25519"];
const ASYMMETRIC = [...RSA, "ES256", "ES384", "ES512", ...ED25519];

/** By the names that Node has for kinds of keys, and for elliptic curves. */
const ALGORITHMS_OF: Readonly<Record<string, string[]>> = {
  rsa: RSA,
  "rsa-pss": RSA_PSS,
  prime256v1: ["ES256"],
  secp384r1: ["ES384"],
  secp521r1: ["ES512"],
  ed25519: ED25519,
};

/** @throws ConfigError where the public key can't be read or used */
export function keysOf(config: AuthenticationConfig): Keys {
  if (config.AUTH_JWKS_URL) return { keyOf: remoteKeys(new URL(config.AUTH_JWKS_URL)), algorithms: ASYMMETRIC };
  if (config.AUTH_PUBLIC_KEY) {
    const key = readPublicKey(config.AUTH_PUBLIC_KEY);
    return { keyOf: async () => key, algorithms: algorithmsOf(key) };
  }
  const secret = createSecretKey(Buffer.from(config.AUTH_JWT_SECRET ?? ""));
  return { keyOf: async () => secret, algorithms: ["HS256"] };
}

/** A token of another algorithm is refused before its key is tried: from Node 22 on that would end in an error of Node's. */
function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string[] {
  const kind = asymmetricKeyDetails?.namedCurve ?? asymmetricKeyType ?? "unknown";
  const algorithms = ALGORITHMS_OF[kind];
  if (algorithms) return algorithms;
  throw new ConfigError([`AUTH_PUBLIC_KEY is a key of the kind ${kind}, with which no token can be signed.`]);
}

function readPublicKey(pem: string): KeyObject {
  try {
    return createPublicKey(pem.replaceAll("\\n", "\n"));
  } catch (error) {
    throw new ConfigError([`AUTH_PUBLIC_KEY can't be read as a PEM public key: ${(error as Error).message}`]);
  }
}
