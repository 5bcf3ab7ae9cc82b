export { createOutbox, type Outbox, outboxTable, type Queryable } from "./outbox.ts";
export { type Pool, type PoolClient, type Relay, type RelayOptions, startRelay } from "./relay.ts";
