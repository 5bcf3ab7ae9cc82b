import { deliverySchemas } from "./deliveries.ts";
import { changeSchemas } from "./endpoint-changes.ts";
import { overviewSchemas } from "./endpoint-overview.ts";
import * as allEnums from "./enums.ts";
import { eventSchemas } from "./event-search.ts";
import { type Catalogue, DEFAULT_CATALOGUE } from "./event-types.ts";
import type { Schema } from "./json-schema.ts";
import { problemSchemas } from "./problems.ts";
import { resendSchemas } from "./resends.ts";
import { DEFAULT_API_LIMITS } from "./rules.ts";
import { type ApiLimits, sessionSchemas } from "./session.ts";
import { saveSchemas, webhookSchemas } from "./webhooks.ts";

export { businessEventSchema, eventPayloadSchema } from "./business-event.ts";
export {
  dataSchemaOf,
  EVENT_SCHEMA_KINDS,
  type EventSchemaKind,
  eventSchema,
  eventSchemaFiles,
} from "./event-schemas.ts";
export { escapeControls, type Schema } from "./json-schema.ts";
export { noticeSchema } from "./notices.ts";

const { eventTypeOf, ...enums } = allEnums;

/** All schemas of the OpenAPI document, in its order. */
const components = {
  ...webhookSchemas,
  ...deliverySchemas,
  ...eventSchemas,
  ...overviewSchemas,
  ...changeSchemas,
  ...resendSchemas,
  ...sessionSchemas,
  ...problemSchemas,
  ...enums,
};

/** The names of the management API's schemas, as its OpenAPI document has them. */
export type SchemaName = keyof typeof components | keyof ReturnType<typeof saveSchemas>;

/**
 * The schemas of the management API, by the names that they have in the OpenAPI document. They refer to each other by
 * `#/components/schemas/...`.
 *
 * Some formats are Herald's own. The program that validates requests gives them their meaning; the descriptions say it in
 * words: `webhook-name`, `webhook-url`, `header-name`, `header-value`, `json-text`, `endpoint-version` and `cursor`.
 */
export function apiSchemas(
  limits: ApiLimits = DEFAULT_API_LIMITS,
  catalogue: Catalogue = DEFAULT_CATALOGUE,
): Record<SchemaName, Schema> {
  const own = { EventType: eventTypeOf(catalogue), ...saveSchemas(limits) };
  return { ...components, ...own } as object as Record<SchemaName, Schema>;
}
