import type { Session } from "@herald/common/database/client";
import { isStatementLost, sqlStateOf } from "@herald/common/database/errors";
import { KEEP_STATEMENTS } from "@herald/common/database/open-database";
import { type Check, type Finding, fault, ok } from "./finding.ts";
import type { DatabaseSubject } from "./postgres.ts";

/** What stands between Herald and PostgreSQL, and how long one of its clients keeps a server's connection. */
type Pooling = "none" | "sessions" | "transactions" | "statements";

export const pooler: Check<DatabaseSubject> = {
  name: "pooler",
  async examine({ session, openSession, preparesStatements }) {
    // A pooler gives its clients numbers of its own.
    if ((await serverOf(session)) === session.processId) return poolerFinding("none");
    const other = await openSession();
    try {
      const pooling = await poolingOf(session, other);
      const tries = pooling === "transactions" && preparesStatements;
      return poolerFinding(pooling, !tries || (await keepsPrepared(session, other)));
    } finally {
      await other.close();
    }
  },
};

async function serverOf(session: Session): Promise<number | undefined> {
  const [row] = await session.query<{ pid: number }>("select pg_backend_pid() as pid");
  return row?.pid;
}

/** Between its transactions, a client of a pooler of transactions has no server connection: another client gets the same one. */
const TRIES = 5;

async function poolingOf(session: Session, other: Session): Promise<Pooling> {
  for (let tries = 0; tries < TRIES; tries++) {
    const mine = await serverOf(session);
    try {
      await other.query("begin");
    } catch {
      // A pooler of statements takes no transaction.
      return "statements";
    }
    const theirs = await serverOf(other);
    await other.query("rollback");
    if (mine === theirs) return "transactions";
  }
  return "sessions";
}

/** Whether a statement that is prepared on one server connection can be run on the next one that the client gets. */
async function keepsPrepared(session: Session, other: Session): Promise<boolean> {
  const run = () => session.query("select 1", [], "herald_doctor");
  try {
    await run();
    // Takes the server connection that has it.
    await other.query("begin");
    await run();
    return true;
  } catch (error) {
    if (isStatementLost(sqlStateOf(error))) return false;
    throw error;
  } finally {
    await other.query("rollback").catch(() => undefined);
  }
}

/** @param losesNone whether all prepared statements are kept, or none is made */
export function poolerFinding(pooling: Pooling, losesNone = true): Finding {
  if (pooling === "none") return ok("None: connections go to PostgreSQL directly.");
  if (pooling === "statements") {
    return fault(
      "A pooler of statements stands before PostgreSQL; Herald needs transactions.",
      "In PgBouncer set pool_mode = transaction, or session.",
    );
  }
  if (losesNone) return ok(`A pooler of ${pooling} stands before PostgreSQL.`);
  return fault("A pooler of transactions stands before PostgreSQL, and loses prepared statements.", KEEP_STATEMENTS);
}
