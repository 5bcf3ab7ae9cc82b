import type { Session } from "@herald/common/database/session";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, warning } from "../finding.ts";
import type { DatabaseSubject } from "./subject.ts";

/** What lets who calls a function run commands as its owner. */
export interface OwnerFunctions {
  database: string;
  /** Functions with the rights of their owner that search temporary objects before others, by their signatures. */
  open: readonly string[];
  /** Everybody may make temporary objects. */
  temporaryForAll: boolean;
}

export const ownerFunctions: Check<DatabaseSubject> = {
  name: "owner's functions",
  examine: async ({ session }) => ownerFunctionsFindings(await read(session)),
};

/** PostgreSQL searches temporary objects first where a path does not name them. */
async function read(session: Session): Promise<OwnerFunctions> {
  const [found] = await session.query<OwnerFunctions>(
    `select current_database() as database,
       array(
         select oid::regprocedure::text from pg_proc
         where prosecdef and pronamespace = to_regnamespace('public')
           and not exists (
             select from unnest(proconfig) as setting where setting ~ '^search_path=.*\\mpg_temp$'
           )
         order by 1
       ) as open,
       exists (
         select from pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba)))
         where datname = current_database() and grantee = 0 and privilege_type = 'TEMPORARY'
       ) as "temporaryForAll"`,
  );
  return found as OwnerFunctions;
}

export function ownerFunctionsFindings({ database, open, temporaryForAll }: OwnerFunctions): Finding[] {
  const findings: Finding[] = [];
  if (open.length > 0) {
    findings.push(
      fault(
        `Who may call ${open.join(", ")} can become its owner: it searches temporary objects before the tables.`,
        `As the owner, for each: alter function ${open[0]} set search_path = pg_catalog, public, pg_temp`,
      ),
    );
  }
  if (temporaryForAll) {
    findings.push(
      warning(
        "Everybody may make temporary tables in this database, which Herald never does.",
        `As the owner of the database: revoke temporary on database "${database}" from public`,
      ),
    );
  }
  return findings.length > 0 ? findings : [ok("They search no temporary object first, and nobody may make one.")];
}
