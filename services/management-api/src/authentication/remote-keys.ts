import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type ExportedJWKSCache,
  errors,
  type JWKSCacheInput,
  type JWTVerifyGetKey,
  jwksCache,
} from "jose";

/** The identity provider's keys can't be read. Says nothing about the token. */
export class KeyServerError extends Error {
  override name = "KeyServerError";
}

export interface RemoteKeysOptions {
  /** How long one request to the key server may take. */
  timeoutMs?: number;
  /** How old keys may become before they are read again: how long a key that the provider withdrew is still accepted. */
  maxAgeMs?: number;
  /** How old keys may become while the key server can't be reached. */
  maxStaleMs?: number;
  /** A token that names an unknown key makes the keys be read again, but not more often than this. */
  cooldownMs?: number;
  /** After a failure the key server is left alone for this long. */
  failureCooldownMs?: number;
}

/**
 * Keys of a JWKS address. They are kept, and read again when a token names one that isn't among them, so a rotation needs
 * no restart. While the key server is away the kept ones serve on for an hour: its outage need not be ours.
 *
 * The returned function throws jose's errors for a token's faults, and {@link KeyServerError} for the server's.
 */
export function remoteKeys(url: URL, options: RemoteKeysOptions = {}): JWTVerifyGetKey {
  const { timeoutMs = 3_000, maxAgeMs = 600_000, maxStaleMs = 3_600_000 } = options;
  const { cooldownMs = 30_000, failureCooldownMs = 5_000 } = options;
  // jose writes here what it read and when.
  const kept: JWKSCacheInput = {};
  const remote = createRemoteJWKSet(url, {
    timeoutDuration: timeoutMs,
    cacheMaxAge: maxAgeMs,
    cooldownDuration: cooldownMs,
    [jwksCache]: kept,
  });
  let failure: { at: number; error: unknown } | undefined;

  return async (header, token) => {
    if (failure === undefined || Date.now() - failure.at >= failureCooldownMs) {
      try {
        return await remote(header, token);
      } catch (error) {
        if (isAboutToken(error)) throw error;
        failure = { at: Date.now(), error };
      }
    }
    try {
      if (isUsable(kept, maxStaleMs)) return await createLocalJWKSet(kept.jwks)(header, token);
    } catch (error) {
      // A key that is unknown here may be a new one that only the server knows.
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    throw new KeyServerError(`The keys at ${url.origin}${url.pathname} can't be read`, { cause: failure.error });
  };
}

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
