import type { OutboxPool } from "@herald/emitter/outbox";
import { hostOf, reasonOf } from "../database.ts";
import { openMysql } from "./open-mysql.ts";
import { openPostgresql } from "./open-postgresql.ts";
import type { OutboxDatabase, OutboxDatabaseOptions } from "./outbox-database.ts";

/**
 * Opens the database that a URL is of, by its scheme. It need not be there yet.
 *
 * @throws ConfigError where the URL can't be used
 */
export function openOutboxDatabase(options: OutboxDatabaseOptions): OutboxDatabase {
  return isMysql(options.url) ? openMysql(options) : openPostgresql(options);
}

/** Runs a task on the database, and closes its connections afterwards. */
export async function withOutboxDatabase<T>(url: string, task: (pool: OutboxPool) => Promise<T>): Promise<T> {
  const database = openOutboxDatabase({ url, onConnectionLost: () => undefined });
  try {
    await database.ping().catch((cause) => {
      const name = isMysql(url) ? "MySQL" : "PostgreSQL";
      throw new Error(`${name} at ${hostOf(url)} can't be used: ${reasonOf(cause)}`, { cause });
    });
    return await task(database.pool);
  } finally {
    await database.close();
  }
}

function isMysql(url: string): boolean {
  return /^(mysql|mariadb):/.test(url);
}
