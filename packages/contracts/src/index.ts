export {
  type BusinessEvent,
  businessEventSchema,
  type EventData,
  type EventPayload,
  type FieldChange,
  MAX_EVENT_BYTES,
} from "./business-event.ts";
export { EVENT_TYPES, type EventType, isEventType } from "./event-types.ts";
export type { Hint, ManualReply } from "./messages.ts";
export type {
  DeleteWebhookRequest,
  DeliverRequest,
  SaveWebhookRequest,
  SaveWebhookResponse,
  WebhookDeliverySummary,
  WebhookEndpointSummary,
} from "./webhooks.ts";
