import type { Config, Settings } from "@herald/common/config/settings";

/** The facts that are read from a token, and their claims unless AUTH_CLAIMS names others. */
const CLAIMS = {
  organization: "organization_id",
  name: "name",
  permissions: "permissions",
  subscription: "subscription",
  modules: "modules",
  entitlements: "entitlements",
} as const;

export type Claims = Readonly<Record<keyof typeof CLAIMS, string>>;

const CLAIM = `(${Object.keys(CLAIMS).join("|")})=[^,=]+`;
const names = Object.entries(CLAIMS)
  .map(([what, claim]) => `${what}=${claim}`)
  .join(",");

export const authenticationSettings = {
  AUTH_JWKS_URL: {
    type: "string",
    pattern: "^https?://",
    description: "Where the identity provider publishes the keys that it signs tokens with (JWKS).",
  },
  AUTH_PUBLIC_KEY: {
    type: "string",
    description: "The one public key that tokens are signed with, as PEM; line breaks may be written as \\n.",
  },
  AUTH_JWT_SECRET: {
    type: "string",
    secret: true,
    minLength: 32,
    description: "A secret shared with the issuer of the tokens (HS256), at least 32 characters; for development.",
  },
  AUTH_ISSUER: { type: "string", description: "The issuer that a token must name (iss)." },
  AUTH_AUDIENCE: { type: "string", description: "The audience that a token must name (aud)." },
  AUTH_CLAIMS: {
    type: "string",
    default: "",
    pattern: `^(${CLAIM}(,${CLAIM})*)?$`,
    description: `Claims that the token has under another name, as organization=org_id,permissions=scope. Without it: ${names}.`,
  },
  AUTH_REQUIRED_MODULE: {
    type: "string",
    default: "administration",
    minLength: 1,
    description: "The module without which the organization can't use the management API.",
  },
  AUTH_COOKIE_NAME: {
    type: "string",
    default: "herald_session",
    pattern: "^[A-Za-z0-9_-]+$",
    description: "Cookie that carries the admin page's token.",
  },
  SIGN_OUT_URL: {
    type: "string",
    pattern: "^https?://",
    description:
      "URL at which a person signs out of the product; the admin page ends its own session, and then goes there.",
  },
  SIGN_IN_URL: {
    type: "string",
    pattern: "^https?://",
    description: "URL at which a person without a session signs in; the admin page shows it.",
  },
} as const satisfies Settings;

export type AuthenticationConfig = Config<typeof authenticationSettings>;

export function claimsOf({ AUTH_CLAIMS }: { AUTH_CLAIMS: string }): Claims {
  const others = AUTH_CLAIMS.split(",").filter(Boolean);
  return { ...CLAIMS, ...Object.fromEntries(others.map((pair) => pair.split("="))) };
}

/** Problems of several settings together: exactly one key source is set, with issuer and audience. */
export function problemsOfAuthentication(config: AuthenticationConfig): string[] {
  const keys = (["AUTH_JWKS_URL", "AUTH_PUBLIC_KEY", "AUTH_JWT_SECRET"] as const).filter((name) => config[name]);
  if (keys.length === 0) {
    return [
      "No key to verify tokens with: set one of AUTH_JWKS_URL, AUTH_PUBLIC_KEY and (development) AUTH_JWT_SECRET.",
    ];
  }
  if (keys.length > 1) {
    return [
      `${keys.join(" and ")} are set, but only one key source can be used: keep the one that tokens are signed for.`,
    ];
  }
  return (["AUTH_ISSUER", "AUTH_AUDIENCE"] as const)
    .filter((name) => !config[name])
    .map(
      (name) => `${name} is missing: without it, tokens that ${keys[0]} made for other applications would be accepted.`,
    );
}
