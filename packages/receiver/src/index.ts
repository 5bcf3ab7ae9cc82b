export type { Answer, Secrets, Webhook, WebhookOptions } from "./accept.ts";
export { type Acceptance, type DeduplicationStore, deduplicator } from "./deduplicate/deduplicator.ts";
export { memoryStore } from "./deduplicate/memory-store.ts";
export { type Pool, postgresStore, type Queryable, receivedEventTable } from "./deduplicate/postgres-store.ts";
export { EVENT_TYPES, type EventOf, type EventType, type HeraldEvent } from "./events.ts";
export type { HeadersInput } from "./headers.ts";
export { readEvent } from "./read-event.ts";
export { sign } from "./sign.ts";
export {
  type Rejected,
  type RejectionReason,
  type Verdict,
  type Verified,
  type VerifyInput,
  verify,
} from "./verify.ts";
