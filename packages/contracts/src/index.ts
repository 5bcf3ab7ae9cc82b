// Types, constants and rules. The schemas, which need TypeBox at run time, are `@herald/contracts/schemas`.
export type { BusinessEvent, EventData, EventPayload, FieldChange } from "./business-event.ts";
export type {
  DeliveryAttemptInfo,
  DeliveryDetails,
  DeliveryListItem,
  DeliveryPage,
  WebhookDeliverySummary,
} from "./deliveries.ts";
export type { EndpointDetails, EndpointOverview, FailedAttempt, HourOfDeliveries } from "./endpoint-overview.ts";
export {
  ENTITY_TYPE_OF,
  ENTITY_TYPES,
  type EntityType,
  EVENT_TYPES,
  type EventType,
  isEventType,
} from "./event-types.ts";
export { FAILURE_KINDS, type FailureKind } from "./failure-kinds.ts";
export { type EventFault, eventFaults, type Judgement, type JudgeOptions, judgeEvent } from "./judge-event.ts";
export { DEFAULT_API_LIMITS, MAX_EVENT_BYTES, RECENT_DELIVERIES } from "./limits.ts";
export type { Hint, HintedDelivery, ManualReply, ManualRequest } from "./messages.ts";
export type { Notice, NoticeAttempt } from "./notices.ts";
export type { FieldProblem, Problem } from "./problems.ts";
export { isOrganizationId, isUtcTime, isUuid, ORGANIZATION_ID_PATTERN, ORGANIZATION_ID_RULE } from "./rules.ts";
export type { ApiLimits, EventTypeInfo, SessionInfo } from "./session.ts";
export { type DeliveryState, NOTICE_TYPES, type NoticeType, OUTCOMES, type Outcome } from "./vocabulary.ts";
export type {
  CheckWebhookRequest,
  CheckWebhookResponse,
  DeleteWebhookRequest,
  DeliverRequest,
  SaveWebhookRequest,
  SaveWebhookResponse,
  WebhookEndpointSummary,
} from "./webhooks.ts";
