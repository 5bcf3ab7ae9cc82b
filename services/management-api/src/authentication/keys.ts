import { createPublicKey, createSecretKey, type KeyObject } from "node:crypto";
import { ConfigError } from "@herald/common/config";
import type { JWTVerifyGetKey } from "jose";
import { remoteKeys } from "./remote-keys.ts";
import type { AuthenticationConfig } from "./settings.ts";

/** What tokens are verified with. */
export interface Keys {
  keyOf: JWTVerifyGetKey;
  /** Accepted `alg` values: a token must not choose how it is verified (a public key is no HMAC secret). */
  algorithms: string[];
}

const ASYMMETRIC = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

/** @throws ConfigError where the public key can't be read */
export function keysOf(config: AuthenticationConfig): Keys {
  if (config.AUTH_JWKS_URL) return { keyOf: remoteKeys(new URL(config.AUTH_JWKS_URL)), algorithms: ASYMMETRIC };
  if (config.AUTH_PUBLIC_KEY) {
    const key = readPublicKey(config.AUTH_PUBLIC_KEY);
    return { keyOf: async () => key, algorithms: ASYMMETRIC };
  }
  const secret = createSecretKey(Buffer.from(config.AUTH_JWT_SECRET ?? ""));
  return { keyOf: async () => secret, algorithms: ["HS256"] };
}

function readPublicKey(pem: string): KeyObject {
  try {
    return createPublicKey(pem.replaceAll("\\n", "\n"));
  } catch (error) {
    throw new ConfigError([`AUTH_PUBLIC_KEY can't be read as a PEM public key: ${(error as Error).message}`]);
  }
}
