import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import express, { type RequestHandler, Router } from "express";
import { assertSameOrigin } from "../authentication/origin.ts";
import type { VerifyToken } from "../authentication/verify-token.ts";
import type { ManagementApiConfig } from "../config.ts";
import { readJson } from "../http/read-json.ts";
import { ProblemError } from "../problems/problem-error.ts";

/** `packages/admin-ui/dist` of this checkout, seen from `src/administration` and from `dist/administration` alike. */
const OWN_UI = fileURLToPath(new URL("../../../../packages/admin-ui/dist/", import.meta.url));
const ASSETS = fileURLToPath(new URL("../../assets/", import.meta.url));

const PAGE_PATH = "/administration/integrations";
const MAX_TOKEN_BYTES = 16 * 1024;

/** Nothing inline and nothing from elsewhere: a script that gets into a webhook's name or a receiver's answer stays text. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The admin page (SPEC 1: `/administration/integrations`), and the session that its cookie stands for. */
export function administrationRoutes(config: ManagementApiConfig, verifyToken: VerifyToken): Router {
  const router = Router({ strict: true });
  router.use("/administration", (_request, response, next) => {
    response.set("Content-Security-Policy", PAGE_POLICY);
    next();
  });
  router.get("/administration", (_request, response) => {
    response.redirect(`${config.BASE_PATH}${PAGE_PATH}`);
  });
  router.use(sessionRoutes(config, verifyToken));
  router.use(PAGE_PATH, pageRoutes(config.ADMIN_UI_DIR ?? OWN_UI, config.BASE_PATH));
  return router;
}

function pageRoutes(folder: string, basePath: string): Router {
  const router = Router();
  // Their names change with their content.
  router.use("/assets", express.static(join(folder, "assets"), { redirect: false, setHeaders: keepForGood }));
  router.use("/assets", () => {
    throw new ProblemError("route_not_found");
  });
  const page = sendPage(folder, basePath);
  router.get("/index.html", page);
  router.use(express.static(folder, { index: false, redirect: false, cacheControl: false }));
  // Any other path is a place in the page.
  router.get(["/", "/*place"], page);
  return router;
}

function keepForGood(response: ServerResponse): void {
  response.setHeader("Cache-Control", "public, max-age=31536000, immutable");
}

/** The page's addresses are relative to `<base>`, which is written here: the build doesn't know the base path. */
function sendPage(folder: string, basePath: string): RequestHandler {
  return async (_request, response) => {
    let html: string;
    try {
      html = await readFile(join(folder, "index.html"), "utf8");
    } catch {
      throw new ProblemError("route_not_found", {
        detail: "The admin page isn't built: run pnpm build, or set ADMIN_UI_DIR to the folder of a built one.",
      });
    }
    response.type("html").send(html.replace(`<base href="${PAGE_PATH}/"`, `<base href="${basePath}${PAGE_PATH}/"`));
  };
}

/**
 * Signing in by a link whose fragment holds a token, which browsers send to nobody: the page behind it posts the token here,
 * and gets the cookie. For development: in production the product's own sign-in sets the cookie, and a link like that
 * would let its maker sign somebody else in as themselves.
 */
function sessionRoutes(config: ManagementApiConfig, verifyToken: VerifyToken): Router {
  const router = Router();
  const cookie = { httpOnly: true, secure: true, sameSite: "strict", path: config.BASE_PATH || "/" } as const;

  router.delete("/administration/session", (request, response) => {
    assertSameOrigin(request, config.PUBLIC_ORIGIN);
    response.clearCookie(config.AUTH_COOKIE_NAME, cookie).status(204).end();
  });
  if (!config.SIGN_IN_LINKS) return router;

  router.get("/administration/sign-in", (_request, response) => response.sendFile("sign-in.html", { root: ASSETS }));
  router.get("/administration/sign-in.js", (_request, response) => response.sendFile("sign-in.js", { root: ASSETS }));
  router.post("/administration/session", async (request, response) => {
    assertSameOrigin(request, config.PUBLIC_ORIGIN);
    const token = ((await readJson(request, MAX_TOKEN_BYTES)) as { token?: unknown } | null)?.token;
    if (typeof token !== "string") throw new ProblemError("authentication_required");
    const { exp = 0 } = await verifyToken(token);
    response
      .cookie(config.AUTH_COOKIE_NAME, token, { ...cookie, expires: new Date(exp * 1_000) })
      .status(204)
      .end();
  });
  return router;
}
