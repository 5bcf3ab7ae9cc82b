import { eventSchemaFiles } from "@herald/contracts/schemas";
import { Router } from "express";
import { refuseOtherMethods } from "../http/methods.ts";
import { publicFile } from "../http/public-file.ts";

/** The JSON Schema of each event, for anyone: `/schemas/events/RiskCreated.json`, `/schemas/requests/RiskCreated.json`. */
export function schemaRoutes(): Router {
  const router = Router({ caseSensitive: true });
  for (const [path, text] of Object.entries(eventSchemaFiles())) {
    router
      .route(`/schemas/${path}`)
      .get(publicFile(text, { type: "application/schema+json", cacheControl: "public, max-age=3600" }))
      .all(refuseOtherMethods(["get"]));
  }
  return router;
}
