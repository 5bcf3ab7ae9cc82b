import { createPublicKey, createSecretKey, type KeyObject } from "node:crypto";
import { ConfigError } from "@herald/common/config/read-config";
import { KEY_SERVER } from "@herald/common/security/connection-fault";
import { nodeAuthorities } from "@herald/common/security/node-authorities";
import { type Outages, outagesInWords } from "@herald/common/service/outages";
import type { Log } from "@herald/common/telemetry/log";
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type ExportedJWKSCache,
  errors,
  type JWKSCacheInput,
  type JWTVerifyGetKey,
  jwksCache,
} from "jose";
import type { AuthenticationConfig } from "./settings.ts";

export interface Keys {
  keyOf: JWTVerifyGetKey;
  /** Accepted `alg` values: a token must not choose how it is verified (a public key is no HMAC secret). */
  algorithms: string[];
}

const RSA_PSS = ["PS256", "PS384", "PS512"];
const RSA = ["RS256", "RS384", "RS512", ...RSA_PSS];
const ED25519 = ["EdDSA", "Ed25519"];
const ASYMMETRIC = [...RSA, "ES256", "ES384", "ES512", ...ED25519];

/** By Node's names for kinds of keys, and for elliptic curves. */
const ALGORITHMS_OF: Readonly<Record<string, string[]>> = {
  rsa: RSA,
  "rsa-pss": RSA_PSS,
  prime256v1: ["ES256"],
  secp384r1: ["ES384"],
  secp521r1: ["ES512"],
  ed25519: ED25519,
};

/** @throws ConfigError if the public key can't be read or used */
export function keysOf(config: AuthenticationConfig, log?: Log): Keys {
  if (config.AUTH_JWKS_URL) {
    const outages = log && outagesInWords(log, KEY_SERVER, { url: config.AUTH_JWKS_URL });
    return { keyOf: remoteKeys(new URL(config.AUTH_JWKS_URL), { outages }), algorithms: ASYMMETRIC };
  }
  if (config.AUTH_PUBLIC_KEY) {
    const key = readPublicKey(config.AUTH_PUBLIC_KEY);
    return { keyOf: async () => key, algorithms: algorithmsOf(key) };
  }
  const secret = createSecretKey(Buffer.from(config.AUTH_JWT_SECRET ?? ""));
  return { keyOf: async () => secret, algorithms: ["HS256"] };
}

/** A token of another algorithm is refused before its key is tried: Node would throw an error of its own. */
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

const WHAT = "the keys that verify tokens";

/** The identity provider's keys can't be read. Says nothing about the token. */
export class KeyServerError extends Error {
  override name = "KeyServerError";
}

const TIMES = {
  /** How long one request to the key server may take. */
  timeoutMs: 3_000,
  /** How old keys may become before they are read again. A key that the provider withdrew is still accepted for this time. */
  maxAgeMs: 600_000,
  /** How old keys may become while the key server can't be reached. */
  maxStaleMs: 3_600_000,
  /** Keys are read again for a token that names an unknown key, but not more often than this. */
  cooldownMs: 30_000,
  /** For this long after a failure the key server isn't asked. */
  failureCooldownMs: 5_000,
};

/**
 * Keys of a JWKS address. They are kept, and read again when a token names a key that isn't among them, so a rotation needs
 * no restart. While the key server can't be reached, the kept keys are used for up to an hour.
 * The returned function throws jose's errors for a token's faults, and {@link KeyServerError} for the server's.
 */
export function remoteKeys(
  url: URL,
  { outages, ...own }: Partial<typeof TIMES> & { outages?: Outages | undefined } = {},
): JWTVerifyGetKey {
  const { timeoutMs, maxAgeMs, maxStaleMs, cooldownMs, failureCooldownMs } = { ...TIMES, ...own };
  // jose writes the keys here, and when it read them.
  let kept: JWKSCacheInput = {};
  let remote = fromNow();
  let failure: { atMs: number; error: unknown } | undefined;
  /** When the keys were read that were in use as reading them failed. */
  let readBefore: number | undefined;

  function fromNow() {
    kept = {};
    return createRemoteJWKSet(url, {
      timeoutDuration: timeoutMs,
      cacheMaxAge: maxAgeMs,
      cooldownDuration: cooldownMs,
      [jwksCache]: kept,
    });
  }

  return async (header, token) => {
    // jose goes by the machine's clock. If that was set back, jose would take these keys for fresh until the clock has caught up.
    if (Number(kept.uat ?? 0) > Date.now()) remote = fromNow();
    if (failure === undefined || performance.now() - failure.atMs >= failureCooldownMs) {
      try {
        return await remote(header, token);
      } catch (error) {
        if (isAboutToken(error)) throw error;
        const { cause } = error as Error;
        nodeAuthorities?.failed(cause);
        outages?.down(WHAT, (cause ?? error) as Error);
        readBefore = kept.uat;
        failure = { atMs: performance.now(), error };
      } finally {
        // jose may answer with keys that it has kept.
        if (failure && kept.uat !== readBefore) outages?.up(WHAT);
      }
    }
    try {
      if (isUsable(kept, maxStaleMs)) return await createLocalJWKSet(kept.jwks)(header, token);
    } catch (error) {
      // A key that isn't among the kept ones may be new, and known to the server only. One that can't be read is the server's fault.
      if (isAboutToken(error) && !(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    throw new KeyServerError(`The keys at ${url.origin}${url.pathname} can't be read`, { cause: failure.error });
  };
}

/** Whether stored keys are young enough. The age is by the machine's clock, as jose stores the time of the download by it. */
function isUsable(kept: JWKSCacheInput, maxStaleMs: number): kept is ExportedJWKSCache {
  return typeof kept.uat === "number" && Date.now() - kept.uat < maxStaleMs;
}

function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}
