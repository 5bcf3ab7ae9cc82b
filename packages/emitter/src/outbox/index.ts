export { createOutbox, type Outbox, type StatementRunner } from "./outbox.ts";
export {
  type Relay,
  type RelayOptions,
  type ReplayOptions,
  readOutboxLag,
  replayOutbox,
  startRelay,
} from "./relay.ts";
export { COUNTED_AT_MOST, type OutboxLag, type Pool, type PoolClient } from "./store.ts";
export { outboxTable } from "./table.ts";
