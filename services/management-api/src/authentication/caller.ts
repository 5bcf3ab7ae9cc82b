import { isOrganizationId, storedName } from "@herald/contracts";
import type { JWTPayload } from "jose";
import { hasInvisible } from "../validation/formats.ts";
import type { Claims } from "./settings.ts";

/** The sender of a request, by the claims of the token. */
export type Caller = ReturnType<typeof callerOf>;

/** Reads the claims, under the names that the settings give them. A claim of another type counts as absent. */
export function callerOf(claims: JWTPayload, names: Claims) {
  const organizationId = claims[names.organization];
  const isOdd = (organizationId ?? null) !== null && !isOrganizationId(organizationId);
  return {
    subject: claims.sub ?? "",
    /** The name to show; null if the token has none that can be shown. */
    name: nameOf(claims[names.name]),
    /** Null if the token names none, or one that breaks the rule for organization ids. */
    organizationId: isOrganizationId(organizationId) ? organizationId : null,
    /** What the issuer of the token has to correct; null if there is nothing. */
    organizationFault: isOdd
      ? `the token's claim ${names.organization} is no text of 1 to 128 characters: correct its issuer`
      : null,
    permissions: namesIn(claims[names.permissions]),
    subscription: textOf(claims[names.subscription]),
    modules: namesIn(claims[names.modules]),
    entitlements: namesIn(claims[names.entitlements]),
    expiresAt: new Date((claims.exp ?? 0) * 1000),
  };
}

const MAX_NAME = 200;

/** A name is shown to others and stored: nothing that hides, turns round or breaks what stands beside it. */
function nameOf(claim: unknown): string | null {
  const name = storedName(textOf(claim) ?? "");
  if (name.length > MAX_NAME) return null;
  return /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name) || hasInvisible(name) || !/[\p{L}\p{N}]/u.test(name) ? null : name;
}

function textOf(claim: unknown): string | null {
  return typeof claim === "string" && claim !== "" ? claim : null;
}

/** A list of names, or names with spaces between, as OAuth writes scopes. */
function namesIn(claim: unknown): ReadonlySet<string> {
  if (typeof claim === "string") return new Set(claim.split(" ").filter(Boolean));
  if (Array.isArray(claim)) return new Set(claim.filter((name) => typeof name === "string"));
  return new Set();
}
