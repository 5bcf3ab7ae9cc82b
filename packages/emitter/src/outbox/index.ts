export type { MysqlConnection, MysqlPool } from "./mysql/store.ts";
export {
  createOutbox,
  DEFAULT_OUTBOX_TABLE,
  type Dialect,
  type KnexTransaction,
  type Outbox,
  type OutboxOptions,
  type OutboxTransaction,
  outboxTable,
  type PrismaTransaction,
  type StatementRunner,
} from "./outbox.ts";
export type { Pool, PoolClient } from "./postgresql/store.ts";
export type { OutboxPool } from "./relay.ts";
export {
  type Relay,
  type RelayOptions,
  type ReplayOptions,
  readOutboxLag,
  replayOutbox,
  startRelay,
} from "./relay.ts";
export { COUNTED_AT_MOST, type OutboxLag } from "./store.ts";
