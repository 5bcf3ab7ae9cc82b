import { Router } from "express";
import type { VerifyToken } from "../authentication/verify-token.ts";
import type { ManagementApiConfig } from "../config.ts";
import { OWN_PAGE, PAGE_PATH, pageRoutes } from "./page.ts";
import { sessionRoutes } from "./session-routes.ts";

/** Nothing inline and nothing from elsewhere: a script that gets into an endpoint's name or a receiver's answer stays text. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The admin page and its session, under `/administration`. */
export function administrationRoutes(config: ManagementApiConfig, verifyToken: VerifyToken): Router {
  const router = Router({ strict: true });
  router.use("/administration", (_request, response, next) => {
    response.set("Content-Security-Policy", CONTENT_SECURITY_POLICY);
    next();
  });
  router.get("/administration", (_request, response) => response.redirect(config.BASE_PATH + PAGE_PATH));
  router.use(sessionRoutes(config, verifyToken));
  router.use(PAGE_PATH, pageRoutes(config.ADMIN_UI_DIR ?? OWN_PAGE, config.BASE_PATH));
  return router;
}
