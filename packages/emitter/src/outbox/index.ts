export type { MysqlConnection, MysqlPool } from "./mysql/store.ts";
export {
  createOutbox,
  type KnexTransaction,
  type Outbox,
  type OutboxOptions,
  type OutboxTransaction,
  type PrismaTransaction,
  type StatementRunner,
} from "./outbox.ts";
export type { Pool, PoolClient } from "./postgresql/store.ts";
export {
  type Relay,
  type RelayOptions,
  type ReplayOptions,
  readOutboxLag,
  replayOutbox,
  startRelay,
} from "./relay.ts";
export type { OutboxPool } from "./store.ts";
export { COUNTED_AT_MOST, type OutboxLag } from "./store-contract.ts";
export { DEFAULT_OUTBOX_TABLE, type Dialect, outboxTable } from "./table.ts";
