import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import { errors, type JWTPayload, type JWTVerifyOptions, type JWTVerifyResult, jwtVerify } from "jose";
import { ProblemError } from "../problems/problem-error.ts";
import { KeyServerError, type Keys, keysOf } from "./keys.ts";
import type { AuthenticationConfig } from "./settings.ts";

/** Returns the claims of a valid token. @throws ProblemError `token_expired`, `token_invalid` (saying why) or `key_server_unavailable` */
export type VerifyToken = (token: string) => Promise<JWTPayload>;

/** How far the clocks of the token's issuer and of PostgreSQL may be apart. */
const CLOCK_TOLERANCE_S = 30;
const KEY_SERVER_RETRY_S = 5;

/** @throws ConfigError if the configured key can't be read */
export function tokenVerifier(config: AuthenticationConfig, clock: Clock, log?: Log): VerifyToken {
  const keys = keysOf(config, log);
  return async (token) => {
    const options: JWTVerifyOptions = {
      algorithms: keys.algorithms,
      requiredClaims: ["exp", "sub"],
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: clock.now(),
      ...(config.AUTH_ISSUER && { issuer: config.AUTH_ISSUER }),
      ...(config.AUTH_AUDIENCE && { audience: config.AUTH_AUDIENCE }),
    };
    try {
      const { payload, protectedHeader } = await verify(token, keys, options);
      if (!isAccessToken(protectedHeader.typ)) {
        throw new errors.JWTClaimValidationFailed("a token of another type", payload, "typ");
      }
      assertUsable(payload, protectedHeader.typ, clock.now());
      return payload;
    } catch (error) {
      throw problemOf(error);
    }
  };
}

/** The types of access tokens (RFC 9068). Many providers give all of their tokens the type JWT, or none. */
const ACCESS_TOKEN_TYPES: ReadonlySet<string> = new Set(["at+jwt", "jwt"]);

/** Tokens that the same keys sign for other ends, such as `logout+jwt`, give no access. */
function isAccessToken(typ: unknown): boolean {
  if (typ === undefined) return true;
  return typeof typ === "string" && ACCESS_TOKEN_TYPES.has(typ.toLowerCase().replace(/^application\//, ""));
}

/** A right that is taken away ends with the token, and so does one that was stolen. A session of a month is as long as any. */
const MAX_LIFE_S = 31 * 24 * 3_600;

/**
 * Recognizes tokens that give no access by the marks of OpenID Connect, Cognito and Keycloak: ID tokens, which identify a user to an application, and
 * tokens to refresh or to log out. Keycloak before 25 puts the nonce of ID tokens into all tokens, but says that an access token is a Bearer.
 */
function isOtherToken({ at_hash, c_hash, nonce, token_use, typ }: JWTPayload, headerTyp: string | undefined): boolean {
  if (at_hash !== undefined || c_hash !== undefined || token_use === "id") return true;
  const isBearer = typeof typ === "string" && typ.toLowerCase() === "bearer";
  if (!isBearer && !isAccessToken(typ)) return true;
  return nonce !== undefined && !isBearer && !/at\+jwt$/i.test(headerTyp ?? "");
}

/** jose looks only whether the two claims are there, and that the end is a number. */
function assertUsable(claims: JWTPayload, typ: string | undefined, now: Date): void {
  const [sub, exp]: [unknown, number] = [claims.sub, claims.exp ?? 0];
  const lastEndS = now.getTime() / 1_000 + MAX_LIFE_S + CLOCK_TOLERANCE_S;
  const faults = {
    sub: typeof sub !== "string" || sub === "",
    exp: exp > lastEndS,
    typ: isOtherToken(claims, typ),
    // A stolen one would work here, since the proof that its sender has the key is not checked (RFC 9449, RFC 8705).
    cnf: claims.cnf !== undefined,
  };
  const [claim] = Object.entries(faults).find(([, isFault]) => isFault) ?? [];
  if (claim !== undefined) throw new errors.JWTClaimValidationFailed(`unusable ${claim}`, claims, claim);
}

async function verify(token: string, keys: Keys, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, keys.keyOf, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    // The token names no key, and several keys fit.
    for await (const key of error) {
      try {
        return await jwtVerify(token, key, options);
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function problemOf(error: unknown): unknown {
  if (error instanceof KeyServerError) {
    return new ProblemError("key_server_unavailable", {
      headers: { "Retry-After": String(KEY_SERVER_RETRY_S) },
      cause: error,
    });
  }
  if (error instanceof errors.JWTExpired) return new ProblemError("token_expired");
  if (error instanceof errors.JOSEError || error instanceof TypeError) {
    // The next token has the same claims.
    const isOfIssuer = error instanceof errors.JWTClaimValidationFailed;
    const remedy = isOfIssuer
      ? "Use a token for this API, or correct its issuer."
      : "Sign in again and use the new token.";
    return new ProblemError("token_invalid", { detail: `${whyInvalid(error)} ${remedy}` });
  }
  return error;
}

const FAULTS_OF_CLAIMS: Readonly<Record<string, string>> = {
  aud: "The token was made for another audience.",
  iss: "The token was made by another issuer.",
  nbf: `The token begins more than ${CLOCK_TOLERANCE_S} s from now.`,
  exp: "The token ends more than 31 days from now.",
  typ: "This is an ID token, or the token's typ is not that of an access token (at+jwt, JWT, Bearer or none).",
  cnf: "The token is bound to a key of its holder (cnf): Herald takes bearer tokens only.",
};

function whyInvalid(error: Error): string {
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.reason === "missing") return `The token has no claim ${error.claim}.`;
    if (error.reason === "invalid") return `The token's claim ${error.claim} is of a wrong type.`;
    return FAULTS_OF_CLAIMS[error.claim] ?? `The token's claim ${error.claim} is not valid.`;
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) return "The token's signature doesn't match.";
  if (error instanceof errors.JWKSNoMatchingKey) return "The token is signed with a key that isn't accepted.";
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported) {
    return "The token is signed with an algorithm that isn't accepted.";
  }
  // jose checks the key's type with a TypeError, such as an RSA key if the token says ES256.
  if (error instanceof TypeError) return "The token is signed with a key of another kind.";
  return "The token is malformed.";
}
