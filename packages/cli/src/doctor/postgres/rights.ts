import { NEEDED_RIGHTS, SERVICE_USERS, type ServiceName, USER_OF_ALL } from "@herald/common/database/rights";
import type { Session } from "@herald/common/database/session";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, warning } from "../finding.ts";
import { nameOf, type Right, rightsOf } from "./single-rights.ts";
import type { DatabaseSubject } from "./subject.ts";

export interface UserRights {
  user: string;
  /** It may use the schema `public` at all. */
  usesSchema: boolean;
  isSuperuser: boolean;
  ownsTables: boolean;
  /** It sees how old the transactions of others are. */
  seesOthers: boolean;
}

export const rights: Check<DatabaseSubject> = {
  name: "user's rights",
  async examine({ session, service }) {
    const [user] = await session.query<UserRights>(
      `select current_user as user, has_schema_privilege('public', 'usage') as "usesSchema",
         (select rolsuper from pg_roles where rolname = current_user) as "isSuperuser",
         coalesce(pg_has_role((select relowner from pg_class where oid = to_regclass('webhook_endpoint')), 'usage'), false) as "ownsTables",
         pg_has_role('pg_read_all_stats', 'usage') as "seesOthers"`,
    );
    const needed = rightsOf(service ? NEEDED_RIGHTS[service] : Object.values(NEEDED_RIGHTS).flat());
    return rightsFindings(user as UserRights, await missingOf(session, needed), service);
  },
};

/** What is not there at all is none of the missing: the schema's check names it. */
async function missingOf(session: Session, needed: readonly Right[]): Promise<string[]> {
  const { tables, functions } = {
    tables: needed.filter(({ isFunction }) => !isFunction),
    functions: needed.filter(({ isFunction }) => isFunction),
  };
  const ofTables = await session.query<{ number: number }>(
    `select number::int from unnest($1::text[], $2::text[], $3::text[]) with ordinality as right_of (privilege, name, of_column, number)
     where not case
       when of_column is null then has_table_privilege(to_regclass(name), privilege)
       else has_column_privilege(to_regclass(name), of_column, privilege)
     end`,
    [tables.map(({ privilege }) => privilege), tables.map(({ object }) => object), tables.map(({ column }) => column)],
  );
  const ofFunctions = await session.query<{ number: number }>(
    `select number::int from unnest($1::text[]) with ordinality as right_of (signature, number)
     where not has_function_privilege(to_regprocedure(signature), 'execute')`,
    [functions.map(({ object }) => object)],
  );
  const named = (list: readonly Right[]) => (row: { number: number }) => nameOf(list[row.number - 1] as Right);
  return [...ofTables.map(named(tables)), ...ofFunctions.map(named(functions))];
}

const NAMED_AT_MOST = 5;

export function rightsFindings(
  { user, usesSchema, isSuperuser, ownsTables, seesOthers }: UserRights,
  missing: readonly string[],
  service: ServiceName | undefined,
): Finding[] {
  if (!usesSchema) {
    return [
      fault(`${user} may not use the schema public.`, `As an administrator: grant usage on schema public to ${user}`),
    ];
  }
  if (missing.length > 0) {
    const more = missing.length > NAMED_AT_MOST ? `, and ${missing.length - NAMED_AT_MOST} more` : "";
    const remedy =
      "Run herald migrate as the owner of the tables: it gives the users of deploy/postgres/roles.sql and service-roles.sql their " +
      "rights. Another user becomes a member of one of them: " +
      `grant ${service ? SERVICE_USERS[service] : USER_OF_ALL} to ${user}`;
    return [fault(`${user} lacks: ${missing.slice(0, NAMED_AT_MOST).join("; ")}${more}.`, remedy)];
  }
  const findings: Finding[] = [];
  if (isSuperuser || ownsTables) {
    findings.push(
      warning(
        `${user} ${isSuperuser ? "is a superuser" : "owns the tables"}: a break-in into a service could drop or change them.`,
        "Have the services connect as the users of deploy/postgres/service-roles.sql, and herald migrate alone as the owner.",
      ),
    );
  }
  if (!seesOthers && (service === undefined || service === "publisher")) {
    findings.push(
      warning(
        `${user} can't see the transactions of others, so herald_oldest_transaction_age_seconds and herald lag tell too little.`,
        `As an administrator: grant pg_read_all_stats to ${user}`,
      ),
    );
  }
  return findings.length > 0
    ? findings
    : [ok(`${user} may do what ${service ?? "the services"} need${service ? "s" : ""}.`)];
}
