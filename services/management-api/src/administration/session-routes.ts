import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Router } from "express";
import { assertSameOrigin } from "../authentication/credentials.ts";
import type { VerifyToken } from "../authentication/verify-token.ts";
import type { ManagementApiConfig } from "../config.ts";
import { publicFile } from "../http/public-file.ts";
import { readJson } from "../http/read-json.ts";
import { ProblemError } from "../problems/problem-error.ts";

const ASSETS = fileURLToPath(new URL("../../assets/", import.meta.url));
const MAX_BODY_BYTES = 16 * 1024;

/**
 * The session behind the page's cookie: signing out, and signing in by a link.
 *
 * Such a link holds a token in its fragment, which browsers don't send: the page behind the link posts the token here, and
 * gets the cookie. It is for development. In production the product's own sign-in sets the cookie, and with such a link an
 * attacker could sign another person in under the attacker's name.
 */
export function sessionRoutes(config: ManagementApiConfig, verifyToken: VerifyToken): Router {
  const router = Router({ caseSensitive: true });
  const cookie = { httpOnly: true, secure: true, sameSite: "strict", path: config.BASE_PATH || "/" } as const;

  router.delete("/administration/session", (request, response) => {
    assertSameOrigin(request, config.PUBLIC_ORIGIN);
    response.clearCookie(config.AUTH_COOKIE_NAME, cookie).status(204).end();
  });
  if (!config.SIGN_IN_LINKS) return router;

  router.get("/administration/sign-in", publicFile(readFileSync(`${ASSETS}sign-in.html`), { type: ".html" }));
  router.get("/administration/sign-in.js", publicFile(readFileSync(`${ASSETS}sign-in.js`), { type: ".js" }));
  router.post("/administration/session", async (request, response) => {
    assertSameOrigin(request, config.PUBLIC_ORIGIN);
    const body = (await readJson(request, MAX_BODY_BYTES)) as { token?: unknown } | null;
    if (typeof body?.token !== "string") throw new ProblemError("authentication_required");
    const { exp = 0 } = await verifyToken(body.token);
    response.cookie(config.AUTH_COOKIE_NAME, body.token, { ...cookie, expires: new Date(exp * 1_000) });
    response.status(204).end();
  });
  return router;
}
