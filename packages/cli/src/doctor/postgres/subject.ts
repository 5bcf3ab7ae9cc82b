import type { Queries } from "@herald/common/database/queries";
import type { ServiceName } from "@herald/common/database/rights";
import type { Session } from "@herald/common/database/session";
import type { Clock } from "@herald/common/runtime/clock";
import type { SecretBox } from "@herald/common/security/secret-box";

/** The database as checks find it, and what they hold it against. */
export interface DatabaseSubject {
  session: Session;
  /** Opens another one, to be closed by the check. */
  openSession(): Promise<Session>;
  /** DATABASE_POOL_SIZE */
  poolSize: number;
  /** Whether DATABASE_URL lets statements be prepared under a name. */
  preparesStatements: boolean;
  /** How many processes of Herald's run, or shall run. */
  processes: number;
  /** Whose user it is; undefined for one user of all services. */
  service: ServiceName | undefined;
  machineClock: Clock;
}

/** What is read over the connections that a service makes. */
export interface StoredSubject {
  queries: Queries;
  /** PostgreSQL's. */
  clock: Clock;
  /** DATABASE_TIMEOUT_SECONDS, in milliseconds. */
  statementTimeoutMs: number;
  preparesStatements: boolean;
  /** Undefined where SECRET_KEYS is not set. */
  secretBox: SecretBox | undefined;
}
