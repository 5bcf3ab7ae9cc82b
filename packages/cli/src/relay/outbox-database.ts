import type { OutboxPool } from "@herald/emitter/outbox";

/** A product service's database, which holds an outbox. */
export interface OutboxDatabase {
  pool: OutboxPool;
  /** Rejects where the database can't be used. */
  ping(): Promise<unknown>;
  close(): Promise<void>;
}

export interface OutboxDatabaseOptions {
  url: string;
  onConnectionLost(error: Error): void;
}

/** The relay has one connection, readiness and metrics the others. */
export const CONNECTIONS = 3;

export const CONNECT_TIMEOUT_MS = 5_000;

export const APPLICATION = "herald-relay";
