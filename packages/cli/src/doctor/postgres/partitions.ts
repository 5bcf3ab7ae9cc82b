import type { Queries } from "@herald/common/database/queries";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, warning } from "../finding.ts";
import { plural } from "../report.ts";
import type { StoredSubject } from "./subject.ts";

export const partitions: Check<StoredSubject> = {
  name: "partitions",
  async examine({ queries, clock }) {
    return partitionsFinding(await readDays(queries), clock.now());
  },
};

/** The days that have partitions, as YYYYMMDD. Locks nothing; walks the catalogue's indexes. */
async function readDays(queries: Queries): Promise<string[]> {
  const rows = await queries.$queryRaw<{ day: string }[]>`
    select right(relname, 8) as day
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'delivery'::regclass and relname ~ '_[0-9]{8}$'`;
  return rows.map(({ day }) => day);
}

/** Publishers make eight days ahead, and look each hour. */
const FEW_DAYS = 4;

export function partitionsFinding(days: readonly string[], now: Date): Finding {
  if (days.length === 0) return ok("None yet; a publisher makes them when it starts.");
  const today = now.toISOString().slice(0, 10).replaceAll("-", "");
  const ahead = days.filter((day) => day > today).length;
  if (ahead >= FEW_DAYS) return ok(`${ahead} days ahead have theirs.`);
  const remedy =
    "Start a publisher, which makes them each hour, and read its log. Its user has to be allowed to execute make_partitions(date).";
  const what = `Only ${plural(ahead, "day")} ahead ${ahead === 1 ? "has" : "have"} partitions.`;
  if (ahead > 0) return warning(what, remedy);
  return fault(
    "No day ahead has partitions: what comes is stored without a day of its own, and retention can't drop it.",
    remedy,
  );
}
