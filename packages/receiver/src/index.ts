export type { Answer, Webhook, WebhookOptions } from "./accept.ts";
export { type Acceptance, type DeduplicationStore, deduplicator, memoryStore } from "./deduplicate/deduplicator.ts";
export { type Pool, postgresStore, type Queryable, receivedEventTable } from "./deduplicate/postgres-store.ts";
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
