export type { Answer, Webhook, WebhookOptions } from "./accept.ts";
export { EVENT_TYPES, type EventOf, type EventType, type HeraldEvent } from "./events.ts";
export { readEvent } from "./read-event.ts";
export { sign } from "./sign.ts";
export {
  type HeadersInput,
  type Rejected,
  type RejectionReason,
  type Secrets,
  type Verdict,
  type Verified,
  type VerifyInput,
  verify,
} from "./verify.ts";
