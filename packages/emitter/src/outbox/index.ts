export {
  createOutbox,
  type KnexTransaction,
  type Outbox,
  type OutboxOptions,
  type OutboxTransaction,
  type PrismaTransaction,
  type StatementRunner,
} from "./outbox.ts";
export { DEFAULT_OUTBOX_TABLE, outboxTable } from "./outbox-table.ts";
export {
  type Relay,
  type RelayOptions,
  type ReplayOptions,
  readOutboxLag,
  replayOutbox,
  startRelay,
} from "./relay.ts";
export { RowsSetAsideError } from "./rows.ts";
export { COUNTED_AT_MOST, type OutboxLag, type Pool, type PoolClient } from "./store.ts";
