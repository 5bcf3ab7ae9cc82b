import type { Explanation } from "../security/connection-fault.ts";

/** The oldest version that the tests run on. */
const OLDEST_POSTGRES = 15;

/** Where Herald's tables are, and what its functions and statements are written for. */
const SCHEMA = "public";

/** What a session finds before it reads a table. Names are quoted as SQL needs them. */
export interface DatabaseInfo {
  /** As `server_version_num` has it: 180004 for 18.4. */
  version: number;
  versionText: string;
  encoding: string;
  isStandby: boolean;
  /** Where `default_transaction_read_only` comes from, as {@link searchPathSource}; null if it is off. */
  readOnlySource: string | null;
  /** The first schema of `search_path` that is there, and the user may use; null if none is. */
  schema: string | null;
  searchPath: string;
  /** Where that value comes from, in the words of `pg_settings`. */
  searchPathSource: string;
  user: string;
  database: string;
  databaseOwner: string;
  /** Whether the user may use `public`, and make tables in it; null if there is no such schema. */
  mayUse: boolean | null;
  mayCreate: boolean | null;
  /** The user who owns the tables, and whether this user has that one's rights; null if there are no tables. */
  owner: string | null;
  isOwner: boolean | null;
  /** Another schema that has Herald's tables, if `public` has none. */
  otherSchema: string | null;
}

/** Answers a {@link DatabaseInfo}. It needs no right on any schema. */
export const DATABASE_INFO = `
  with herald as (
    select nspname, relowner from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where relname = 'due' and relkind = 'r' and exists (select from pg_class as shard where relname = 'shard' and shard.relnamespace = pg_namespace.oid)
  ), own as (
    select relowner from herald where nspname = '${SCHEMA}'
  )
  select current_setting('server_version_num')::int as "version", current_setting('server_version') as "versionText",
    current_setting('server_encoding') as "encoding", pg_is_in_recovery() as "isStandby",
    (select source from pg_settings where name = 'default_transaction_read_only' and setting = 'on') as "readOnlySource", current_schema() as "schema", current_setting('search_path') as "searchPath",
    (select source from pg_settings where name = 'search_path') as "searchPathSource", quote_ident(current_user) as "user",
    quote_ident(datname) as "database", quote_ident(pg_get_userbyid(datdba)) as "databaseOwner",
    (select has_schema_privilege(oid, 'usage') from pg_namespace where nspname = '${SCHEMA}') as "mayUse",
    (select has_schema_privilege(oid, 'create') from pg_namespace where nspname = '${SCHEMA}') as "mayCreate",
    (select quote_ident(pg_get_userbyid(relowner)) from own) as "owner", (select pg_has_role(relowner, 'usage') from own) as "isOwner",
    (select quote_ident(nspname) from herald where not exists (select from own) order by nspname limit 1) as "otherSchema"
  from pg_database where datname = current_database()`;

/** The statement that takes a setting back where it comes from: a source of `pg_settings`. */
export function resetOf(name: string, source: string, { user, database }: { user: string; database: string }): string {
  const places: Readonly<Record<string, string>> = {
    user: `alter role ${user} reset ${name}`,
    "database user": `alter role ${user} in database ${database} reset ${name}`,
    database: `alter database ${database} reset ${name}`,
    global: `alter role all reset ${name}`,
  };
  const place = places[source];
  if (place) return `\`${place}\``;
  if (source === "client") return `Remove ${name} from the options of DATABASE_URL.`;
  return `If ALTER SYSTEM set it, \`alter system reset ${name}\` and \`select pg_reload_conf()\`. Otherwise correct it in postgresql.conf.`;
}

/** Why statements would not find Herald's tables; undefined if they do, or there are none anywhere. */
export function placeFault(info: DatabaseInfo): Explanation | undefined {
  const { otherSchema, schema, searchPath, searchPathSource, user, database, databaseOwner, mayUse, isOwner } = info;
  if (otherSchema !== null) {
    return {
      what: `Herald's tables are in the schema ${otherSchema}, and Herald works in ${SCHEMA} alone.`,
      remedy: `To use them, give that schema the name ${SCHEMA}: \`alter schema ${SCHEMA} rename to ${SCHEMA}_before\` and \`alter schema ${otherSchema} rename to ${SCHEMA}\`. Otherwise drop them.`,
    };
  }
  if (schema === SCHEMA) return undefined;
  if (mayUse === false) {
    return {
      what: `${user} may not use the schema ${SCHEMA} of the database ${database}.`,
      // Partitions are made with the rights of the tables' owner.
      remedy: `As ${databaseOwner}: \`grant usage${isOwner ? ", create" : ""} on schema ${SCHEMA} to ${user}\``,
    };
  }
  const isOwn = ["database user", "user", "client"].includes(searchPathSource);
  return {
    what: `search_path is ${searchPath}, which leads to ${schema ?? "no schema that is there"}: Herald's tables are in ${SCHEMA}.`,
    remedy: isOwn
      ? resetOf("search_path", searchPathSource, info)
      : `As ${databaseOwner}: \`alter database ${database} set search_path = ${SCHEMA}, pg_temp\``,
  };
}

/** Why the server takes no writes; undefined if it is none that follows another one. */
export function standbyFault({ isStandby }: DatabaseInfo): Explanation | undefined {
  if (!isStandby) return undefined;
  return {
    what: "It is a standby, which takes no writes.",
    remedy: "Point DATABASE_URL at the primary, by a name that follows it when it fails over.",
  };
}

/** Why the server is too old; undefined if it is not. */
export function versionFault({ version, versionText }: DatabaseInfo): Explanation | undefined {
  if (version >= OLDEST_POSTGRES * 10_000) return undefined;
  return {
    what: `The database server is PostgreSQL ${versionText}; Herald needs ${OLDEST_POSTGRES} or newer.`,
    remedy: "Upgrade the server, or point DATABASE_URL at a newer one.",
  };
}

/** Why a database can't hold each text; undefined if it can. SQL_ASCII would take any bytes, also those that are no text. */
export function encodingFault({ encoding }: DatabaseInfo): Explanation | undefined {
  if (encoding === "UTF8") return undefined;
  return {
    what: `The database's encoding is ${encoding}, which does not hold each text of an event as it came.`,
    remedy:
      "Make another database, such as by `create database herald template template0 encoding 'UTF8' locale 'C'`, and point DATABASE_URL at it.",
  };
}

function readOnlyFault(info: DatabaseInfo): Explanation | undefined {
  if (info.readOnlySource === null) return undefined;
  const name = "default_transaction_read_only";
  return { what: `${name} is on: nothing can be written.`, remedy: resetOf(name, info.readOnlySource, info) };
}

/** Why no migration can be in this database; undefined if they can. Where `search_path` leads is no matter: they set it. */
export function unfitFault(info: DatabaseInfo): Explanation | undefined {
  const { user, database, databaseOwner, mayUse, otherSchema } = info;
  const isElsewhere = otherSchema !== null || mayUse === false;
  const fault =
    versionFault(info) ??
    encodingFault(info) ??
    standbyFault(info) ??
    readOnlyFault(info) ??
    (isElsewhere ? placeFault(info) : undefined);
  if (fault || mayUse !== null) return fault;
  return {
    what: `The database ${database} has no schema ${SCHEMA}, in which Herald's tables are.`,
    remedy: `As ${databaseOwner}: \`create schema ${SCHEMA}\` and \`grant usage, create on schema ${SCHEMA} to ${user}\``,
  };
}

/** Why this user can't apply a migration; undefined if it can. */
export function ownershipFault(info: DatabaseInfo): Explanation | undefined {
  const { user, database, databaseOwner, owner, isOwner, mayCreate } = info;
  if (isOwner === false) {
    return {
      what: `Herald's tables belong to ${owner}, and ${user} may not change them.`,
      remedy: `Run it as the owner: with ${owner} as the user in DATABASE_URL.`,
    };
  }
  if (mayCreate) return undefined;
  return {
    what: `${user} may make no tables in the schema ${SCHEMA} of the database ${database}.`,
    remedy: `Run it as the user that shall own them, or, as ${databaseOwner}: \`grant usage, create on schema ${SCHEMA} to ${user}\``,
  };
}
