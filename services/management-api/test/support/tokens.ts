import { SignJWT } from "jose";

export const JWT_SECRET = "a secret of the tests, of 32 characters at least";
export const ISSUER = "https://login.example.com";
export const AUDIENCE = "herald-tests";

/** What a caller may have besides everything, which is the default. */
export interface TokenOptions {
  subject?: string;
  name?: unknown;
  organizationId?: string | null;
  permissions?: unknown;
  subscription?: unknown;
  modules?: unknown;
  entitlements?: unknown;
  expiresInS?: number;
  notBeforeInS?: number;
  issuer?: string;
  audience?: string;
  secret?: string;
  omit?: "exp" | "sub";
}

/** A token of the development kind, as a browser session or an API client would hold. */
export async function token(options: TokenOptions = {}): Promise<string> {
  const { organizationId = "organization-1", subject = "user-1", expiresInS = 3_600 } = options;
  const now = Math.floor(Date.now() / 1_000);
  const jwt = new SignJWT({
    ...(options.name !== undefined && { name: options.name }),
    ...(organizationId !== null && { organization_id: organizationId }),
    permissions: options.permissions ?? ["integrations.view", "integrations.manage"],
    subscription: options.subscription ?? "active",
    modules: options.modules ?? ["administration"],
    entitlements: options.entitlements ?? ["integrations"],
  })
    .setProtectedHeader({ alg: "HS256" })
    .setIssuer(options.issuer ?? ISSUER)
    .setAudience(options.audience ?? AUDIENCE);
  if (options.omit !== "sub") jwt.setSubject(subject);
  if (options.omit !== "exp") jwt.setExpirationTime(now + expiresInS);
  if (options.notBeforeInS !== undefined) jwt.setNotBefore(now + options.notBeforeInS);
  return await jwt.sign(Buffer.from(options.secret ?? JWT_SECRET));
}
