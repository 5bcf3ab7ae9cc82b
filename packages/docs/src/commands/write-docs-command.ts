import { writeFileSync } from "node:fs";
import { DEFAULT_API_LIMITS } from "@herald/contracts";
import { errorsPage, openApiDocument } from "@herald/management-api";

/** Writes what of `docs/api` is made of the code. A test fails where it's out of date. */
const folder = new URL("../../../../docs/api/", import.meta.url);

const document = openApiDocument({ limits: DEFAULT_API_LIMITS, basePath: "", cookieName: "herald_session" });
writeFileSync(new URL("openapi.json", folder), `${JSON.stringify(document, null, 2)}\n`);
writeFileSync(new URL("errors.md", folder), errorsPage());
