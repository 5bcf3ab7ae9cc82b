import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Catalogue } from "@herald/contracts";
import { eventSchemaFiles } from "@herald/contracts/schemas";
import { type RequestHandler, Router } from "express";
import { publicFile } from "../http/public-file.ts";
import { refuseOtherMethods } from "../http/router.ts";
import type { OpenApiDocument } from "./document.ts";
import { published } from "./published.ts";
import { referencePage } from "./reference-page.ts";

const ASSETS = fileURLToPath(new URL("../../assets/", import.meta.url));
const PAGE_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** What the API says of itself: for programs `/openapi.json`, for people `/reference`. Both hold nothing that is secret. */
export function openApiRoutes(document: OpenApiDocument): Router {
  const router = Router({ caseSensitive: true });
  const serve = (path: string, ...handlers: RequestHandler[]) =>
    router
      .route(path)
      .get(...handlers)
      .all(refuseOtherMethods(["get"]));
  const underPolicy: RequestHandler = (_request, response, next) => {
    response.set("Content-Security-Policy", PAGE_POLICY);
    next();
  };
  serve("/openapi.json", publicFile(JSON.stringify(published(document)), { type: "application/json" }));
  serve("/reference", underPolicy, publicFile(referencePage(document), { type: ".html" }));
  serve("/reference.css", publicFile(readFileSync(`${ASSETS}reference.css`), { type: ".css" }));
  return router;
}

/** The JSON Schema of each event, for anyone: `/schemas/events/RiskCreated.json`, `/schemas/requests/RiskCreated.json`. */
export function schemaRoutes(catalogue: Catalogue): Router {
  const router = Router({ caseSensitive: true });
  for (const [path, text] of Object.entries(eventSchemaFiles(catalogue))) {
    router
      .route(`/schemas/${path}`)
      .get(publicFile(text, { type: "application/schema+json", cacheControl: "public, max-age=3600" }))
      .all(refuseOtherMethods(["get"]));
  }
  return router;
}
