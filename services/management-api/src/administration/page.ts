import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import express, { type RequestHandler, Router } from "express";
import type { VerifyToken } from "../authentication/verify-token.ts";
import type { ManagementApiConfig } from "../config.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { sessionRoutes } from "./session-routes.ts";

/** Where the page is (SPEC 1), behind the deployment's base path. */
const PAGE_PATH = "/administration/integrations";

/** `packages/admin-ui/dist` of this checkout, seen from `src/administration` and from `dist/administration` alike. */
const OWN_PAGE = fileURLToPath(new URL("../../../../packages/admin-ui/dist/", import.meta.url));

/** Only the page's own files run: a script in an endpoint's name or in a receiver's answer stays text. */
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
  const router = Router({ caseSensitive: true, strict: true });
  router.use("/administration", (_request, response, next) => {
    response.set("Content-Security-Policy", CONTENT_SECURITY_POLICY);
    next();
  });
  router.get("/administration", (_request, response) => response.redirect(config.BASE_PATH + PAGE_PATH));
  router.use(sessionRoutes(config, verifyToken));
  router.use(PAGE_PATH, pageRoutes(config.ADMIN_UI_DIR ?? OWN_PAGE, config.BASE_PATH));
  return router;
}

/** Serves a built admin page: its assets, its files, and for every other path the page itself, which reads the path. */
function pageRoutes(folder: string, basePath: string): Router {
  const router = Router({ caseSensitive: true });
  router.use("/assets", express.static(join(folder, "assets"), { redirect: false, setHeaders: keepForGood }));
  router.use("/assets", () => {
    throw new ProblemError("route_not_found");
  });
  const page = sendPage(folder, basePath);
  router.get("/index.html", page);
  router.use(express.static(folder, { index: false, redirect: false, cacheControl: false }));
  router.get(["/", "/*place"], page);
  return router;
}

/** An asset never changes: a new content gets a new name. */
function keepForGood(response: ServerResponse): void {
  response.setHeader("Cache-Control", "public, max-age=31536000, immutable");
}

/** The page's addresses are relative to its `<base>`. That is written here, since the build doesn't know the base path. */
function sendPage(folder: string, basePath: string): RequestHandler {
  return async (_request, response) => {
    let html: string;
    try {
      html = await readFile(join(folder, "index.html"), "utf8");
    } catch (cause) {
      throw new ProblemError("route_not_found", {
        detail: "The admin page isn't built: run pnpm build, or set ADMIN_UI_DIR to the folder of a built one.",
        cause,
      });
    }
    response.type("html").send(html.replace(`<base href="${PAGE_PATH}/"`, `<base href="${basePath}${PAGE_PATH}/"`));
  };
}
