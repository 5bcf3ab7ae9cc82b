import { NEEDED_RIGHTS, SERVICE_USERS, USER_OF_ALL } from "@herald/common/database/rights";
import { type Check, fault, warningsOf } from "./finding.ts";
import type { DatabaseSubject } from "./postgres.ts";

interface UserRights extends Record<"usesSchema" | "isSuperuser" | "ownsTables" | "seesOthers", boolean> {
  user: string;
}

const NAMED_AT_MOST = 5;

export const rights: Check<DatabaseSubject> = {
  name: "user's rights",
  async examine({ session, service }) {
    const [found] = await session.query<UserRights>(
      `select current_user as user, has_schema_privilege('public', 'usage') as "usesSchema",
         (select rolsuper from pg_roles where rolname = current_user) as "isSuperuser",
         coalesce(pg_has_role((select relowner from pg_class where oid = to_regclass('public.webhook_endpoint')), 'usage'), false) as "ownsTables",
         pg_has_role('pg_read_all_stats', 'usage') as "seesOthers"`,
    );
    const { user, usesSchema, isSuperuser, ownsTables, seesOthers } = found as UserRights;
    if (!usesSchema)
      return fault(
        `${user} may not use the schema public.`,
        `As an administrator: \`grant usage on schema public to ${user}\``,
      );
    const needed = rightsOf(service ? NEEDED_RIGHTS[service] : Object.values(NEEDED_RIGHTS).flat());
    // A missing table is no missing right here: its privilege is null, so the row is not selected. The check in schema.ts reports the table.
    const lacks = await session.query<Right>(
      `select * from json_to_recordset($1) as needed (privilege text, object text, of_column text)
       where not case
         when object like '%(%' then has_function_privilege(to_regprocedure('public.' || object), privilege)
         when of_column is null then has_table_privilege(to_regclass('public.' || object), privilege)
         else has_column_privilege(to_regclass('public.' || object), of_column, privilege)
       end`,
      [JSON.stringify(needed)],
    );
    if (lacks.length > 0) {
      const role = service ? SERVICE_USERS[service] : USER_OF_ALL;
      const more = lacks.length > NAMED_AT_MOST ? `, and ${lacks.length - NAMED_AT_MOST} more` : "";
      return fault(
        `${user} lacks: ${lacks.slice(0, NAMED_AT_MOST).map(nameOf).join("; ")}${more}.`,
        "Run `herald migrate` as the owner of the tables: it gives the users of deploy/postgres/roles.sql and service-roles.sql their " +
          `rights.${role === user ? "" : ` Another user becomes a member of one of them: grant ${role} to ${user}`}`,
      );
    }
    return warningsOf([
      [
        isSuperuser || ownsTables,
        `${user} ${isSuperuser ? "is a superuser" : "owns the tables"}: a break-in into a service could drop or change them.`,
        "Have the services connect as the users of deploy/postgres/service-roles.sql, and herald migrate alone as the owner.",
      ],
      [
        !seesOthers && (service ?? "publisher") === "publisher",
        `${user} can't see the transactions of others, so herald_oldest_transaction_age_seconds tells too little.`,
        `As an administrator: \`grant pg_read_all_stats to ${user}\``,
      ],
    ]);
  },
};

interface Right {
  privilege: string;
  /** A table's name, or a function's signature. */
  object: string;
  of_column: string | null;
}

export function rightsOf(grants: readonly string[]): Right[] {
  const rights = grants.flatMap((grant) => {
    const [privileges = "", objects = ""] = grant.split(/ on (?:function )?/);
    const names = objects.match(grant.includes(" on function ") ? /\w+\([^)]*\)/g : /\w+/g) ?? [];
    return [...privileges.matchAll(/(\w+)(?: \(([^)]*)\))?/g)].flatMap(([, privilege = "", columns]) =>
      names.flatMap((object) =>
        (columns?.split(", ") ?? [null]).map((of_column) => ({ privilege, object, of_column })),
      ),
    );
  });
  return [...new Map(rights.map((right) => [nameOf(right), right])).values()];
}

/** As a person would grant it: "update (publish_at) on notice". */
export function nameOf({ privilege, object, of_column }: Right): string {
  const columns = of_column === null ? "" : ` (${of_column})`;
  return `${privilege}${columns} on ${object.includes("(") ? "function " : ""}${object}`;
}
