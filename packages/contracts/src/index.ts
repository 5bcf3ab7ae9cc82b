// Types, constants and rules. The schemas, which need TypeBox at run time, are `@herald/contracts/schemas`.
export type { BusinessEvent, EventData, EventPayload, FieldChange } from "./business-event.ts";
export type {
  AllDeliveriesQuery,
  DeliveryAttemptInfo,
  DeliveryDetails,
  DeliveryListItem,
  DeliveryPage,
  DeliveryQuery,
  WebhookDeliverySummary,
} from "./deliveries.ts";
export type { ChangedSettings, EndpointChange, EndpointChangePage, EndpointChangeQuery } from "./endpoint-changes.ts";
export type {
  AttemptCounts,
  EndpointDetails,
  EndpointOverview,
  EndpointRates,
  FailedAttempt,
  HourOfDeliveries,
  PeriodRates,
} from "./endpoint-overview.ts";
export { samplePayload } from "./event-samples.ts";
export type {
  EndpointDelivery,
  EventDetails,
  EventListItem,
  EventPage,
  EventQuery,
  UndeliveredEvent,
} from "./event-search.ts";
export {
  type Catalogue,
  DEFAULT_CATALOGUE,
  ENTITY_TYPES,
  type EntityType,
  EVENT_TYPES,
  type EventType,
  type EventTypeDefinition,
  isEventType,
} from "./event-types.ts";
export {
  type EventFault,
  type EventTypeRules,
  eventFaults,
  type Judgement,
  type JudgeOptions,
  judgeEvent,
} from "./judge-event.ts";
export type { EndpointChanged, HandOver, ManualRequest } from "./messages.ts";
export type { EndpointNotice, Notice, NoticeAttempt, RejectedEvent } from "./notices.ts";
export type { FieldProblem, Problem, ProblemCode } from "./problems.ts";
export type { Resend, ResendPage, ResendPreview, ResendQuery, StartResendRequest } from "./resends.ts";
export {
  DEFAULT_API_LIMITS,
  ID_PREFIX,
  isOrganizationId,
  isTime,
  isUuid,
  MAX_EVENT_BYTES,
  MAX_HEADERS,
  ORGANIZATION_ID_RULE,
  RECENT_DELIVERIES,
  storedName,
} from "./rules.ts";
export type { ApiLimits, EventTypeInfo, PageProduct, SessionInfo } from "./session.ts";
export {
  CHANGE_KINDS,
  CHANGED_BY,
  type ChangedBy,
  type ChangeKind,
  FAILURE_KINDS,
  type FailureKind,
  NO_DELIVERY_REASONS,
  NOTICE_TYPES,
  type NoDeliveryReason,
  type NoticeType,
  OUTCOMES,
  type Outcome,
  type ResendState,
  type ResendStopReason,
  UNDELIVERED_CAUSES,
  type UndeliveredCause,
} from "./vocabulary.ts";
export type {
  CheckWebhookRequest,
  CheckWebhookResponse,
  DeleteWebhookRequest,
  DeliverRequest,
  SaveWebhookRequest,
  SaveWebhookResponse,
  WebhookEndpointSummary,
} from "./webhooks.ts";
