import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import express, { type RequestHandler, Router } from "express";
import { ProblemError } from "../problems/problem-error.ts";

/** Where the page is (SPEC 1), behind the deployment's base path. */
export const PAGE_PATH = "/administration/integrations";

/** `packages/admin-ui/dist` of this checkout, seen from `src/administration` and from `dist/administration` alike. */
export const OWN_PAGE = fileURLToPath(new URL("../../../../packages/admin-ui/dist/", import.meta.url));

/** Serves a built admin page: its assets, its files, and for every other path the page itself, which has places of its own. */
export function pageRoutes(folder: string, basePath: string): Router {
  const router = Router();
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

/** The names of assets change with their content. */
function keepForGood(response: ServerResponse): void {
  response.setHeader("Cache-Control", "public, max-age=31536000, immutable");
}

/** The page's addresses are relative to `<base>`, which is written here: the build doesn't know the base path. */
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
