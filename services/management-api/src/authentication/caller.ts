import type { JWTPayload } from "jose";
import type { AuthenticationConfig } from "./settings.ts";

/** Who sent a request, by the claims of the token. */
export interface Caller {
  subject: string;
  /** Null where the token names none. */
  organizationId: string | null;
  permissions: ReadonlySet<string>;
  subscription: string | null;
  modules: ReadonlySet<string>;
  entitlements: ReadonlySet<string>;
  expiresAt: Date;
}

/** As `organizationId` is in business events. */
const MAX_ORGANIZATION_ID = 128;

/** Reads the claims, under the names that the settings give them. A claim of another type counts as absent. */
export function callerOf(claims: JWTPayload, config: AuthenticationConfig): Caller {
  return {
    subject: claims.sub ?? "",
    organizationId: organizationOf(claims[config.AUTH_ORGANIZATION_CLAIM]),
    permissions: namesIn(claims[config.AUTH_PERMISSIONS_CLAIM]),
    subscription: textOf(claims[config.AUTH_SUBSCRIPTION_CLAIM]),
    modules: namesIn(claims[config.AUTH_MODULES_CLAIM]),
    entitlements: namesIn(claims[config.AUTH_ENTITLEMENTS_CLAIM]),
    expiresAt: new Date((claims.exp ?? 0) * 1000),
  };
}

function textOf(claim: unknown): string | null {
  return typeof claim === "string" && claim !== "" ? claim : null;
}

function organizationOf(claim: unknown): string | null {
  const text = textOf(claim);
  return text !== null && text.length <= MAX_ORGANIZATION_ID && !text.includes("\0") ? text : null;
}

/** A list of names, or names with spaces between, as OAuth writes scopes. */
function namesIn(claim: unknown): ReadonlySet<string> {
  if (typeof claim === "string") return new Set(claim.split(" ").filter(Boolean));
  if (Array.isArray(claim)) return new Set(claim.filter((name) => typeof name === "string"));
  return new Set();
}
