import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPgbouncer } from "../stack/pgbouncer.ts";
import { askForPgbouncer } from "./stack-client.ts";

/** A pooler that stands before the database of a test file. */
export interface TestPooler {
  /** Of the same database, through it, for clients that prepare nothing under a name. */
  url: string;
  stop(): Promise<void>;
}

/**
 * Whether POSTGRES_POOLER asks for tests through a pooler of transactions.
 *
 * @throws where it asks for something else
 */
export function isPoolerAsked(): boolean {
  const { POSTGRES_POOLER } = process.env;
  if (POSTGRES_POOLER === "pgbouncer") return true;
  if (!POSTGRES_POOLER) return false;
  throw new Error(`POSTGRES_POOLER is "${POSTGRES_POOLER}". It can be pgbouncer; without it, tests have no pooler.`);
}

/** Starts a PgBouncer of transactions. Debian's 1.18 keeps no prepared statements. */
export async function startTestPooler(databaseUrl: string): Promise<TestPooler> {
  const { executable } = await askForPgbouncer();
  const folder = mkdtempSync(join(tmpdir(), "herald-pooler-"));
  const pgbouncer = await startPgbouncer(executable, { folder, databaseUrl, poolMode: "transaction" });
  const url = new URL(pgbouncer.url);
  url.searchParams.set("pgbouncer", "true");
  return {
    url: url.href,
    async stop() {
      await pgbouncer.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
