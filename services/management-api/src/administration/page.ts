import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { PageProduct } from "@herald/contracts";
import { parseCookie } from "cookie";
import { type RequestHandler, Router } from "express";
import { assertSameOrigin } from "../authentication/credentials.ts";
import type { VerifyToken } from "../authentication/verify-token.ts";
import type { ManagementApiConfig } from "../config.ts";
import { publicFile } from "../http/public-file.ts";
import { readJson } from "../http/read-json.ts";
import { ProblemError } from "../problems/problem-error.ts";

const ASSETS = "/assets/";

/** Reads a built admin page once, less than a megabyte: a request reads no disk and compresses nothing. The HTML is null if it isn't built. */
export function readBuiltPage(folder: string): { html: string | null; files: ReadonlyMap<string, RequestHandler> } {
  const files = new Map<string, RequestHandler>();
  if (!existsSync(join(folder, "index.html"))) return { html: null, files };
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === "index.html") continue;
    const file = join(entry.parentPath, entry.name);
    const path = file.slice(join(folder, "/").length - 1).replaceAll(sep, "/");
    // An asset never changes: a new content gets a new name.
    const cacheControl = path.startsWith(ASSETS) ? "public, max-age=31536000, immutable" : "no-cache";
    files.set(path, publicFile(readFileSync(file), { type: extname(file), cacheControl }));
  }
  return { html: readFileSync(join(folder, "index.html"), "utf8"), files };
}

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
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'none'",
    `frame-ancestors ${frameAncestors || "'none'"}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");

/** The admin page and its session, under `/administration`. @param pageFolder where the built page is */
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
  // A person types the host, or a part of the path.
  router.get(["/", "/administration", "/administration/"], (_request, response) =>
    response.redirect(config.BASE_PATH + PAGE_PATH),
  );
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

/** Writes the `<base>` of the page's addresses, and how it looks like the product that it belongs to: the build doesn't know either. */
function written(html: string, config: ManagementApiConfig): string {
  const product: PageProduct = {
    name: config.PAGE_PRODUCT_NAME,
    accent: config.PAGE_ACCENT_COLOR ?? null,
    hasLogo: config.PAGE_LOGO_FILE !== undefined,
    signOutUrl: config.SIGN_OUT_URL ?? null,
  };
  return html
    .replace(`<base href="${PAGE_PATH}/"`, `<base href="${config.BASE_PATH}${PAGE_PATH}/"`)
    .replace(
      '<meta name="product" content=""',
      () => `<meta name="product" content="${escaped(JSON.stringify(product))}"`,
    );
}

const OWN_ASSETS = fileURLToPath(new URL("../../assets/", import.meta.url));
const MAX_BODY_BYTES = 16 * 1024;

/**
 * The session behind the page's cookie: signing out, and signing in by a link.
 *
 * Such a link holds a token in its fragment, which browsers don't send: the page behind the link posts the token here, and
 * gets the cookie. It works with HERALD_ENV=development only. In production the product's own sign-in sets the cookie, and with such a link an
 * attacker could sign another person in under the attacker's name.
 */
export function sessionRoutes(config: ManagementApiConfig, verifyToken: VerifyToken): Router {
  const router = Router({ caseSensitive: true });
  const name = config.AUTH_COOKIE_NAME;
  const cookie = { httpOnly: true, secure: true, sameSite: "strict", path: config.BASE_PATH || "/" } as const;

  router.delete("/administration/session", (request, response) => {
    assertSameOrigin(request, config.PUBLIC_ORIGIN);
    const parts = Object.keys(parseCookie(request.headers.cookie ?? "")).filter((each) => each.startsWith(`${name}.`));
    for (const each of [name, ...parts]) response.clearCookie(each, cookie);
    response.status(204).end();
  });
  if (config.HERALD_ENV !== "development") return router;

  router.get("/administration/sign-in", publicFile(readFileSync(`${OWN_ASSETS}sign-in.html`), { type: ".html" }));
  router.get("/administration/sign-in.js", publicFile(readFileSync(`${OWN_ASSETS}sign-in.js`), { type: ".js" }));
  router.post("/administration/session", async (request, response) => {
    assertSameOrigin(request, config.PUBLIC_ORIGIN);
    const body = (await readJson(request, MAX_BODY_BYTES)) as { token?: unknown } | null;
    if (typeof body?.token !== "string") throw new ProblemError("authentication_required");
    const { exp = 0 } = await verifyToken(body.token);
    const detail = `The token has ${body.token.length} characters, and browsers take no cookie of more than 4,096 bytes.`;
    // The rest is for name and attributes.
    if (body.token.length > 3_800) throw new ProblemError("token_invalid", { detail });
    response.cookie(name, body.token, { ...cookie, expires: new Date(exp * 1_000) });
    response.status(204).end();
  });
  return router;
}

/** Text as it stands in HTML, within an attribute too. */
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
