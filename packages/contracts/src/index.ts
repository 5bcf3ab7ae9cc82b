export { type ApiLimits, DEFAULT_API_LIMITS, RECENT_DELIVERIES } from "./api-limits.ts";
export { apiSchemas, type Schema, type SchemaName } from "./api-schemas/index.ts";
export {
  type BusinessEvent,
  businessEventSchema,
  type EventData,
  type EventPayload,
  type FieldChange,
  MAX_EVENT_BYTES,
} from "./business-event.ts";
export type {
  DeliveryAttemptInfo,
  DeliveryDetails,
  DeliveryListItem,
  DeliveryPage,
  DeliveryState,
  Outcome,
} from "./deliveries.ts";
export { OUTCOMES } from "./deliveries.ts";
export type { EndpointDetails, EndpointOverview, FailedAttempt, HourOfDeliveries } from "./endpoint-overview.ts";
export { EVENT_TYPES, type EventType, isEventType } from "./event-types.ts";
export { FAILURE_KINDS, type FailureKind } from "./failure-kinds.ts";
export { type Hint, hintSchema, type ManualReply, manualReplySchema } from "./messages.ts";
export { NOTICE_TYPES, type Notice, type NoticeAttempt, type NoticeType, noticeSchema } from "./notices.ts";
export type { FieldProblem, Problem } from "./problems.ts";
export type { EventTypeInfo, SessionInfo } from "./session.ts";
export type {
  CheckWebhookRequest,
  CheckWebhookResponse,
  DeleteWebhookRequest,
  DeliverRequest,
  SaveWebhookRequest,
  SaveWebhookResponse,
  WebhookDeliverySummary,
  WebhookEndpointSummary,
} from "./webhooks.ts";
