import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { PageProduct } from "@herald/contracts";
import { type RequestHandler, Router } from "express";
import type { VerifyToken } from "../authentication/verify-token.ts";
import type { ManagementApiConfig } from "../config.ts";
import { publicFile } from "../http/public-file.ts";
import { escaped } from "../openapi/html.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { readBuiltPage } from "./built-page.ts";
import { sessionRoutes } from "./session-routes.ts";

/** Where the page is (SPEC 1), behind the deployment's base path. */
const PAGE_PATH = "/administration/integrations";

/** `packages/admin-ui/dist` of this checkout, seen from `src/administration` and from `dist/administration` alike. */
const OWN_PAGE = fileURLToPath(new URL("../../../../packages/admin-ui/dist/", import.meta.url));

/** Only the page's own files run: a script in an endpoint's name or in a receiver's answer stays text. */
const contentSecurityPolicy = (frameAncestors: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'none'",
    `frame-ancestors ${frameAncestors || "'none'"}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");

/**
 * The admin page and its session, under `/administration`.
 *
 * @param pageFolder where the built page is
 */
export function administrationRoutes(
  config: ManagementApiConfig,
  verifyToken: VerifyToken,
  pageFolder: string = OWN_PAGE,
): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const policy = contentSecurityPolicy(config.PAGE_FRAME_ANCESTORS);
  router.use("/administration", (_request, response, next) => {
    response.set("Content-Security-Policy", policy);
    // The older header knows only all or none.
    if (config.PAGE_FRAME_ANCESTORS !== "") response.removeHeader("X-Frame-Options");
    next();
  });
  router.get("/administration", (_request, response) => response.redirect(config.BASE_PATH + PAGE_PATH));
  router.use(sessionRoutes(config, verifyToken));
  router.use(PAGE_PATH, pageRoutes(config, pageFolder));
  return router;
}

/** Serves a built admin page: its files, and for every other path the page itself, which reads the path. */
function pageRoutes(config: ManagementApiConfig, folder: string): Router {
  const { PAGE_LOGO_FILE: logo } = config;
  const { html, files } = readBuiltPage(folder);
  const page = html === null ? notBuilt : publicFile(written(html, config), { type: ".html" });
  const router = Router({ caseSensitive: true });
  if (logo !== undefined) router.get("/logo", (_request, response) => response.sendFile(resolve(logo)));
  router.get(["/", "/*place"], (request, response, next) => {
    const file = files.get(request.path);
    if (file === undefined && request.path.startsWith("/assets/")) throw new ProblemError("route_not_found");
    return (file ?? page)(request, response, next);
  });
  return router;
}

const notBuilt: RequestHandler = () => {
  throw new ProblemError("route_not_found", {
    detail: "The admin page isn't built: run pnpm build, and start the service again.",
  });
};

/**
 * The page's addresses are relative to its `<base>`. That is written here, with how the page looks like the product that it
 * belongs to, since the build doesn't know either.
 */
function written(html: string, config: ManagementApiConfig): string {
  const product: PageProduct = {
    name: config.PAGE_PRODUCT_NAME,
    url: config.PAGE_PRODUCT_URL ?? null,
    accent: config.PAGE_ACCENT_COLOR ?? null,
    hasLogo: config.PAGE_LOGO_FILE !== undefined,
  };
  return html
    .replace(`<base href="${PAGE_PATH}/"`, `<base href="${config.BASE_PATH}${PAGE_PATH}/"`)
    .replace(
      '<meta name="product" content=""',
      () => `<meta name="product" content="${escaped(JSON.stringify(product))}"`,
    );
}
