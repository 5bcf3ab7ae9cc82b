import { SignJWT } from "jose";

/** The issuer and audience of tokens that a local stack takes. */
export const DEVELOPMENT_ISSUER = "herald-development";
export const DEVELOPMENT_AUDIENCE = "herald";

/** The claims of a user who may do everything. */
export const FULL_ACCESS = {
  permissions: ["integrations.view", "integrations.manage"],
  entitlements: ["integrations"],
  subscription: "active",
  modules: ["administration"],
};

/** The organization of a command that names none. */
export const DEMO_ORGANIZATION = "demo-organization";

/** The default life of a token. */
export const DEFAULT_LIFE = "30d";

/** Mints a token as an identity provider would, for development. `life` is how long it is valid, such as "1h", "30m" or "7d". */
export async function developmentToken(
  jwtSecret: string,
  { organizationId, ...access }: typeof FULL_ACCESS & { organizationId: string },
  life = DEFAULT_LIFE,
): Promise<string> {
  return await new SignJWT({ organization_id: organizationId, ...access })
    .setProtectedHeader({ alg: "HS256" })
    .setSubject("developer")
    .setIssuer(DEVELOPMENT_ISSUER)
    .setAudience(DEVELOPMENT_AUDIENCE)
    .setIssuedAt()
    .setExpirationTime(life)
    .sign(new TextEncoder().encode(jwtSecret));
}
