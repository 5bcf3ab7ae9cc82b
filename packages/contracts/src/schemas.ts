import {
  AllDeliveriesQuery,
  DeliveryAttemptInfo,
  DeliveryDetails,
  DeliveryExportQuery,
  DeliveryExportRow,
  DeliveryListItem,
  DeliveryPage,
  DeliveryQuery,
  WebhookDeliverySummary,
} from "./deliveries.ts";
import {
  ChangedSettings,
  EndpointChange,
  EndpointChangePage,
  EndpointChangeQuery,
  ManualDelivery,
} from "./endpoint-changes.ts";
import {
  AttemptCounts,
  EndpointDetails,
  EndpointOverview,
  EndpointRates,
  FailedAttempt,
  HourOfDeliveries,
  PeriodRates,
  ResumePreview,
  UnfinishedDeliveries,
} from "./endpoint-overview.ts";
import * as allEnums from "./enums.ts";
import {
  EndpointDelivery,
  EventDetails,
  EventListItem,
  EventPage,
  EventQuery,
  UndeliveredEvent,
} from "./event-search.ts";
import { type Catalogue, DEFAULT_CATALOGUE } from "./event-types.ts";
import type { Schema } from "./json-schema.ts";
import { DEFAULT_API_LIMITS } from "./limits.ts";
import { FieldProblem, Problem, ProblemCode } from "./problems.ts";
import {
  Resend,
  ResendFilter,
  ResendPage,
  ResendPreview,
  ResendPreviewQuery,
  ResendQuery,
  StartResendRequest,
} from "./resends.ts";
import { type ApiLimits, EventTypeInfo, ServiceLimits, SessionInfo } from "./session.ts";
import {
  CheckWebhookResponse,
  DeleteWebhookRequest,
  SaveWebhookResponse,
  saveSchemas,
  WebhookEndpointSummary,
} from "./webhooks.ts";

export { businessEventSchema, eventPayloadSchema } from "./business-event.ts";
export {
  dataSchemaOf,
  EVENT_SCHEMA_KINDS,
  type EventSchemaKind,
  eventSchema,
  eventSchemaFiles,
} from "./event-schemas.ts";
export { escapeControls, type Schema } from "./json-schema.ts";
export { endpointChangedSchema, handOverSchema, manualReplySchema, manualRequestSchema } from "./messages.ts";
export { noticeSchema } from "./notices.ts";

const { eventTypeOf, ...enums } = allEnums;

const components = {
  WebhookEndpointSummary,
  SaveWebhookResponse,
  DeleteWebhookRequest,
  CheckWebhookResponse,
  WebhookDeliverySummary,
  DeliveryListItem,
  DeliveryPage,
  DeliveryDetails,
  DeliveryAttemptInfo,
  DeliveryQuery,
  AllDeliveriesQuery,
  DeliveryExportRow,
  DeliveryExportQuery,
  EventListItem,
  EventPage,
  EventDetails,
  EventQuery,
  EndpointDelivery,
  UndeliveredEvent,
  EndpointOverview,
  AttemptCounts,
  EndpointDetails,
  EndpointRates,
  PeriodRates,
  HourOfDeliveries,
  FailedAttempt,
  UnfinishedDeliveries,
  ResumePreview,
  EndpointChange,
  ManualDelivery,
  ChangedSettings,
  EndpointChangePage,
  EndpointChangeQuery,
  Resend,
  ResendFilter,
  ResendPage,
  ResendPreview,
  ResendPreviewQuery,
  ResendQuery,
  StartResendRequest,
  SessionInfo,
  ServiceLimits,
  EventTypeInfo,
  Problem,
  ProblemCode,
  FieldProblem,
  ...enums,
};

/** The names of the management API's schemas, as its OpenAPI document has them. */
export type SchemaName = keyof typeof components | keyof ReturnType<typeof saveSchemas>;

/**
 * The schemas of the management API, by the names that they have in the OpenAPI document. They refer to each other by
 * `#/components/schemas/...`.
 *
 * Some formats are Herald's own. The program that validates requests gives them their meaning; the descriptions say it in
 * words: `webhook-name`, `webhook-url`, `json-text`, `endpoint-version` and `cursor`.
 */
export function apiSchemas(
  limits: ApiLimits = DEFAULT_API_LIMITS,
  catalogue: Catalogue = DEFAULT_CATALOGUE,
): Record<SchemaName, Schema> {
  const own = { EventType: eventTypeOf(catalogue), ...saveSchemas(limits) };
  return { ...components, ...own } as object as Record<SchemaName, Schema>;
}
