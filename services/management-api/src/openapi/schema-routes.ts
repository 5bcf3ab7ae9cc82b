import { createHash } from "node:crypto";
import { eventSchemaFiles } from "@herald/contracts/schemas";
import { Router } from "express";
import { refuseOtherMethods } from "../http/methods.ts";

/** The JSON Schema of each event, for anyone: `/schemas/events/RiskCreated.json`, `/schemas/requests/RiskCreated.json`. */
export function schemaRoutes(): Router {
  const router = Router({ caseSensitive: true });
  for (const [path, text] of Object.entries(eventSchemaFiles())) {
    // Weak, since the text may be compressed on its way.
    const etag = `W/"${createHash("sha256").update(text).digest("base64url")}"`;
    router
      .route(`/schemas/${path}`)
      .get((_request, response) => {
        // express answers 304 where the caller has this text.
        response.set({ "Cache-Control": "public, max-age=3600", ETag: etag });
        response.type("application/schema+json").send(text);
      })
      .all(refuseOtherMethods(["get"]));
  }
  return router;
}
