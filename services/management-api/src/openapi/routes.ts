import type { Catalogue } from "@herald/contracts";
import { eventSchemaFiles } from "@herald/contracts/schemas";
import { Router } from "express";
import { publicFile } from "../http/public-file.ts";
import { refuseOtherMethods } from "../http/router.ts";
import type { OpenApiDocument } from "./document.ts";
import { published } from "./published.ts";

/** The OpenAPI document, for anyone: it holds nothing that is secret. */
export function openApiRoutes(document: OpenApiDocument): Router {
  const router = Router({ caseSensitive: true });
  router
    .route("/openapi.json")
    .get(publicFile(JSON.stringify(published(document)), { type: "application/json" }))
    .all(refuseOtherMethods(["get"]));
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
