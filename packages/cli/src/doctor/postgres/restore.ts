import type { Queries } from "@herald/common/database/queries";
import type { Check } from "../check.ts";
import { ok, warning } from "../finding.ts";
import type { StoredSubject } from "./subject.ts";

export const restore: Check<StoredSubject> = {
  name: "restore",
  async examine({ queries }) {
    const begunAt = await readBegin(queries);
    if (begunAt === undefined) return ok("None is under way.");
    return warning(
      `One is under way since ${begunAt.toISOString()}: no attempt begins.`,
      'Close its gap, as docs/operating/restore.md says; then "herald restore end".',
    );
  },
};

/** When the restore began that is not ended; undefined where there is none. Locks nothing. */
async function readBegin(queries: Queries): Promise<Date | undefined> {
  const [row] = await queries.$queryRaw<{ begunAt: Date }[]>`select begun_at as "begunAt" from restore`;
  return row?.begunAt;
}
