import { createPublicKey, type JsonWebKey } from "node:crypto";
import { explainTlsFailure } from "@herald/common/security/server-certificate";
import { reasonOf } from "../database.ts";
import type { Check } from "./check.ts";
import { type Finding, fault, ok, skipped } from "./finding.ts";
import { plural } from "./report.ts";
import { unreachable } from "./unreachable.ts";

/** AUTH_JWKS_URL, undefined where it is not set. */
export interface IdentitySubject {
  jwksUrl: string | undefined;
}

const SERVER = { name: "The key server", urlSetting: "AUTH_JWKS_URL", caSetting: "NODE_EXTRA_CA_CERTS" };
const TIMEOUT_MS = 5_000;

export const jwks: Check<IdentitySubject> = {
  name: "identity provider's keys",
  async examine({ jwksUrl }) {
    if (jwksUrl === undefined) return skipped("AUTH_JWKS_URL is not set here.");
    if (!URL.canParse(jwksUrl))
      return fault("AUTH_JWKS_URL is no URL.", "Write it as https://identity.example.com/jwks.");
    const { host } = new URL(jwksUrl);
    try {
      const response = await fetch(jwksUrl, {
        headers: { accept: "application/json", connection: "close" },
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return keysFinding({ host, status: response.status, text: await response.text() });
    } catch (error) {
      return keyServerFinding((error as { cause?: unknown }).cause ?? error, host);
    }
  },
};

function keyServerFinding(error: unknown, host: string): Finding {
  const tls = explainTlsFailure(error, SERVER);
  if (tls) return fault(tls.what, tls.remedy);
  return (
    unreachable(error, { name: "the key server", host, urlSetting: SERVER.urlSetting }) ??
    fault(
      `The key server at ${host} can't be asked: ${reasonOf(error)}.`,
      "Correct AUTH_JWKS_URL, or open the way to it.",
    )
  );
}

export function keysFinding({ host, status, text }: { host: string; status: number; text: string }): Finding {
  const remedy = "Correct AUTH_JWKS_URL: the provider names it as jwks_uri in /.well-known/openid-configuration.";
  if (status !== 200) return fault(`${host} answers ${status} instead of keys.`, remedy);
  const keys = readKeys(text);
  if (keys === undefined) return fault(`What ${host} answers is no JSON with keys.`, remedy);
  const usable = keys.filter(isUsable).length;
  if (usable > 0) return ok(`${host} has ${plural(usable, "key")} that tokens can be verified with.`);
  return fault(
    `${host} has ${plural(keys.length, "key")}, and none that tokens can be verified with.`,
    "Have the provider sign with RSA (2048 bits or more), EC (P-256, P-384, P-521) or Ed25519, and publish that key for signatures.",
  );
}

function readKeys(text: string): Record<string, unknown>[] | undefined {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown };
    return Array.isArray(keys) ? keys : undefined;
  } catch {
    return undefined;
  }
}

const LEAST_RSA_BITS = 2048;
const KINDS = ["rsa", "rsa-pss", "ec", "ed25519"];

function isUsable(jwk: Record<string, unknown>): boolean {
  try {
    if (jwk.use !== undefined && jwk.use !== "sig") return false;
    const { asymmetricKeyType = "", asymmetricKeyDetails } = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
    return (
      KINDS.includes(asymmetricKeyType) && (asymmetricKeyDetails?.modulusLength ?? LEAST_RSA_BITS) >= LEAST_RSA_BITS
    );
  } catch {
    return false;
  }
}
