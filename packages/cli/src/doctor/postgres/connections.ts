import type { Check } from "../check.ts";
import { type Finding, fault, ok } from "../finding.ts";
import type { DatabaseSubject } from "./subject.ts";

export interface ConnectionLimits {
  /** max_connections, without those that are kept for administrators. */
  server: number;
  /** Connections of others than Herald's. */
  others: number;
  /** -1 where there is none. */
  role: number;
  /** Likewise. */
  database: number;
}

export const connections: Check<DatabaseSubject> = {
  name: "connections",
  async examine({ session, poolSize, processes }) {
    // Of another user's connection, anybody may see that it is there and what it is called.
    const [row] = await session.query<ConnectionLimits>(
      `select
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true), '0')::int as server,
         (select count(*) from pg_stat_activity where usesysid is not null and application_name not like 'herald%')::int as others,
         (select rolconnlimit from pg_roles where rolname = current_user) as role,
         (select datconnlimit from pg_database where datname = current_database()) as database`,
    );
    return connectionsFinding(row as ConnectionLimits, { poolSize, processes });
  },
};

/** For a migration or a command beside the services. */
const SPARE = 2;

export function connectionsFinding(
  { server, others, role, database }: ConnectionLimits,
  { poolSize, processes }: { poolSize: number; processes: number },
): Finding {
  // One more than the pool: /readyz has its own.
  const needed = processes * (poolSize + 1) + SPARE;
  const limits = [
    { free: server - others, what: "the server", raise: "max_connections" },
    {
      free: role < 0 ? Number.POSITIVE_INFINITY : role,
      what: "this user's limit",
      raise: "the user's connection limit",
    },
    {
      free: database < 0 ? Number.POSITIVE_INFINITY : database,
      what: "the database's limit",
      raise: "the database's connection limit",
    },
  ];
  const tightest = limits.reduce((least, each) => (each.free < least.free ? each : least));
  const wanted = `${processes} processes with DATABASE_POOL_SIZE=${poolSize} may open ${needed} connections`;
  if (needed <= tightest.free) return ok(`${wanted}; ${tightest.free} are free.`);
  return fault(
    `${wanted}; ${tightest.what} leaves ${Math.max(0, tightest.free)}.`,
    `Raise ${tightest.raise}, or lower DATABASE_POOL_SIZE. --processes says how many processes run.`,
  );
}
