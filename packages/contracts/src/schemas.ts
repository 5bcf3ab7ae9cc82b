import * as deliveries from "./deliveries.ts";
import * as changes from "./endpoint-changes.ts";
import * as overviews from "./endpoint-overview.ts";
import * as allEnums from "./enums.ts";
import * as events from "./event-search.ts";
import { type Catalogue, DEFAULT_CATALOGUE } from "./event-types.ts";
import type { Schema } from "./json-schema.ts";
import * as problems from "./problems.ts";
import * as resends from "./resends.ts";
import { DEFAULT_API_LIMITS } from "./rules.ts";
import * as sessions from "./session.ts";
import * as webhooks from "./webhooks.ts";

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

// What else these files export are parts of schemas.
const { endpoint: _endpoint, version: _version, saveSchemas, ...ofWebhooks } = webhooks;
const { attempt: _attempt, historyFilter: _historyFilter, ...ofDeliveries } = deliveries;
const { eventTypeOf, ...enums } = allEnums;

/** All schemas of the OpenAPI document, in its order: each has the name of its constant. */
const components = {
  ...{ ...ofWebhooks, ...ofDeliveries, ...events, ...overviews },
  ...{ ...changes, ...resends, ...sessions, ...problems, ...enums },
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
  limits: sessions.ApiLimits = DEFAULT_API_LIMITS,
  catalogue: Catalogue = DEFAULT_CATALOGUE,
): Record<SchemaName, Schema> {
  const own = { EventType: eventTypeOf(catalogue), ...saveSchemas(limits) };
  return { ...components, ...own } as object as Record<SchemaName, Schema>;
}
