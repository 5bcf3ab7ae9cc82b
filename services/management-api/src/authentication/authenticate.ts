import type { Request } from "express";
import { ProblemError } from "../problems/problem-error.ts";
import { type Access, type Missing, missingFor, permissionsFor } from "./access.ts";
import { type Caller, callerOf } from "./caller.ts";
import { assertMeantFor, assertSameOrigin, findCredentials } from "./credentials.ts";
import { type AuthenticationConfig, claimsOf } from "./settings.ts";
import type { VerifyToken } from "./verify-token.ts";

/** Returns a caller who has what `access` asks for, and an organization; null asks for any valid token. @throws ProblemError 401, 403 or 503 */
export type Authenticate = (request: Request, access: Access | null) => Promise<Caller>;

export function authenticator(
  config: AuthenticationConfig & { PUBLIC_ORIGIN?: string | undefined },
  verifyToken: VerifyToken,
): Authenticate {
  const claims = claimsOf(config);
  return async (request, access) => {
    // A proxy in front may read another one of the headers than this service does.
    if ((request.headersDistinct.authorization?.length ?? 0) > 1) {
      throw new ProblemError("token_invalid", { detail: "The request has several Authorization headers. Send one." });
    }
    const credentials = findCredentials(request.headers, config.AUTH_COOKIE_NAME);
    if (credentials.kind === "none") throw new ProblemError("authentication_required");
    if (credentials.kind === "api-key") {
      throw new ProblemError("api_key_not_accepted", {
        detail:
          `What the header ${credentials.header} holds is no user's access token, and API keys don't authorize webhook ` +
          "management. Send Authorization: Bearer <token> with the access token of a signed-in user.",
      });
    }
    const caller = callerOf(await verifyToken(credentials.token), claims);
    if (credentials.kind === "cookie") assertSameOrigin(request, config.PUBLIC_ORIGIN);
    if (access === null) return caller;
    assertMeantFor(caller.organizationId, request.get("Herald-Organization"));
    assertNothingMissing(missingFor(access, caller, config.AUTH_REQUIRED_MODULE), access);
    return caller;
  };
}

function assertNothingMissing(missing: Missing[], access: Access): void {
  const [first] = missing;
  if (first === undefined) return;
  const names = missing.map(({ what }) => what);
  throw new ProblemError(first.code, {
    detail: `This needs what the caller lacks: ${names.join(", ")}. Ask the organization's administrator.`,
    missing: names,
    // Only a permission is for the client to mend, by a token that holds it (RFC 6750 3.1).
    ...(first.code === "permission_missing" && {
      headers: {
        "WWW-Authenticate": `Bearer error="insufficient_scope", scope="${permissionsFor(access).join(" ")}"`,
      },
    }),
  });
}
