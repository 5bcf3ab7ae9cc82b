import { fileURLToPath } from "node:url";
import { type RequestHandler, Router } from "express";
import { refuseOtherMethods } from "../http/methods.ts";
import type { OpenApiDocument } from "./document.ts";
import { referencePage } from "./reference-page.ts";

const ASSETS = fileURLToPath(new URL("../../assets/", import.meta.url));
const PAGE_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** What the API says of itself: for programs `/openapi.json`, for people `/reference`. Both hold nothing that is secret. */
export function openApiRoutes(document: OpenApiDocument): Router {
  const page = referencePage(document);
  const router = Router({ caseSensitive: true });
  const serve = (path: string, handler: RequestHandler) =>
    router
      .route(path)
      .get(handler)
      .all(refuseOtherMethods(["get"]));
  serve("/openapi.json", (_request, response) => {
    response.json(document);
  });
  serve("/reference", (_request, response) => {
    response.set("Content-Security-Policy", PAGE_POLICY).type("html").send(page);
  });
  serve("/reference.css", (_request, response) => response.sendFile("reference.css", { root: ASSETS }));
  return router;
}
