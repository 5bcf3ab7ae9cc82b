import { type MysqlPool, mysqlStore } from "./mysql/store.ts";
import { type Pool, postgresqlStore } from "./postgresql/store.ts";
import type { OutboxStore } from "./store-contract.ts";

/** The database that holds an outbox: a pool of `pg`, or one of `mysql2/promise`. */
export type OutboxPool = Pool | MysqlPool;

/** The outbox behind a pool, which shows by its methods which database it is of. */
export function outboxStore(pool: OutboxPool, table: string): OutboxStore {
  return "getConnection" in pool ? mysqlStore(pool, table) : postgresqlStore(pool, table);
}
