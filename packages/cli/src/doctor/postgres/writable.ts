import type { Check } from "../check.ts";
import { type Finding, fault, ok } from "../finding.ts";
import type { DatabaseSubject } from "./subject.ts";

export interface Writability {
  inRecovery: boolean;
  readOnly: boolean;
  encoding: string;
}

export const writable: Check<DatabaseSubject> = {
  name: "database",
  async examine({ session }) {
    const [row] = await session.query<Writability>(
      `select pg_is_in_recovery() as "inRecovery", current_setting('default_transaction_read_only')::bool as "readOnly",
              current_setting('server_encoding') as encoding`,
    );
    return writableFinding(row as Writability);
  },
};

export function writableFinding({ inRecovery, readOnly, encoding }: Writability): Finding {
  if (inRecovery) {
    return fault(
      "It is a standby, which takes no writes.",
      "Point DATABASE_URL at the primary, by a name that follows it when it fails over.",
    );
  }
  if (readOnly) {
    return fault(
      "Transactions of this user are read-only (default_transaction_read_only).",
      "Reset it where it is set: alter role, alter database, or the server's configuration.",
    );
  }
  if (encoding !== "UTF8") {
    return fault(
      `Its encoding is ${encoding}, which can't hold every text of an event.`,
      "Make a new database with encoding UTF8, and migrate that.",
    );
  }
  return ok("It takes writes, in UTF8.");
}
