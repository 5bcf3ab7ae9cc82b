import { OLDEST_POSTGRES } from "@herald/common/database/postgres-version";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, warning } from "../finding.ts";
import type { DatabaseSubject } from "./subject.ts";

/** The newest version that the tests run on. */
const NEWEST_TRIED = 18;

export const postgresVersion: Check<DatabaseSubject> = {
  name: "PostgreSQL version",
  async examine({ session }) {
    const [row] = await session.query<{ number: number; text: string }>(
      "select current_setting('server_version_num')::int as number, current_setting('server_version') as text",
    );
    return versionFinding(row as { number: number; text: string });
  },
};

/** @param number as `server_version_num` has it: 180004 for 18.4 */
export function versionFinding({ number, text }: { number: number; text: string }): Finding {
  const major = Math.floor(number / 10_000);
  if (major < OLDEST_POSTGRES) {
    return fault(
      `It is PostgreSQL ${text}; Herald needs ${OLDEST_POSTGRES} or newer.`,
      "Upgrade the server, or point DATABASE_URL at a newer one.",
    );
  }
  if (major > NEWEST_TRIED) {
    return warning(
      `It is PostgreSQL ${text}; Herald has been tried up to ${NEWEST_TRIED}.`,
      "Look for a newer Herald, or try this one under load before customers depend on it.",
    );
  }
  return ok(`PostgreSQL ${text}`);
}
