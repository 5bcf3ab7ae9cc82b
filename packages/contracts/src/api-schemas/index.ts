import { type ApiLimits, DEFAULT_API_LIMITS } from "../api-limits.ts";
import { deliverySchemas } from "./deliveries.ts";
import { overviewSchemas } from "./overview.ts";
import { problemSchemas } from "./problems.ts";
import type { Schema, SchemaName } from "./schema.ts";
import { sessionSchemas } from "./session.ts";
import { saveSchemas, webhookSchemas } from "./webhooks.ts";

export type { Schema, SchemaName } from "./schema.ts";

/**
 * The schemas of the management API, by the names that they have in the OpenAPI document. They refer to each other by
 * `#/components/schemas/...`.
 *
 * Some formats are Herald's own. Whoever validates requests gives them their meaning; the descriptions say it in words:
 * `webhook-name`, `webhook-url`, `json-text`, `endpoint-version` and `delivery-cursor`.
 */
export function apiSchemas(limits: ApiLimits = DEFAULT_API_LIMITS): Record<SchemaName, Schema> {
  return {
    ...webhookSchemas,
    ...saveSchemas(limits),
    ...deliverySchemas,
    ...overviewSchemas,
    ...sessionSchemas,
    ...problemSchemas,
  };
}
