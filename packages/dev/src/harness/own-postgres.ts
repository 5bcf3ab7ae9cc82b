import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@herald/common/database/migrate";
import { afterAll, beforeAll } from "@jest/globals";
import { projectFolder } from "../stack/folders.ts";
import { type Postgres, startPostgres, withClient } from "../stack/postgres.ts";
import { removePostgresData } from "../stack/postgres-programs.ts";
import { STACK_TIMEOUT_MS } from "./stack-client.ts";

const PASSWORD = "do-not-show";

/** The administrator of a managed PostgreSQL owns Herald's database and is no superuser. Not each may give pg_read_all_stats. */
const MANAGED = `create role administrator login createrole createdb password '${PASSWORD}';
  alter database herald owner to administrator`;
const READ_ALL_STATS = "grant pg_read_all_stats to herald_app, herald_publisher";

/**
 * A PostgreSQL server of this file alone, which waits for its disk as in production, set up by deploy/postgres as a managed one is:
 * a test may change its users and its settings. Call it at the top of the file.
 */
export function useOwnPostgres() {
  const folder = mkdtempSync(join(tmpdir(), "herald-postgres-"));
  let server: Postgres | undefined;

  /** The URL of a database. The user is herald_app of deploy/postgres/roles.sql if none is given. */
  function url(user = "herald_app", database?: string): string {
    if (server === undefined) throw new Error("The server exists from beforeAll on.");
    const address = new URL(server.url);
    Object.assign(address, { username: user, password: PASSWORD });
    if (database !== undefined) address.pathname = `/${database}`;
    return address.href;
  }

  /** Runs SQL as a superuser, in Herald's database if none is given. */
  async function run(sql: string, database = "herald"): Promise<void> {
    const address = new URL((server as Postgres).url);
    address.pathname = `/${database}`;
    await runAt(address.href, sql);
  }

  beforeAll(async () => {
    server = await startPostgres({ folder });
    await run(MANAGED);
    await runAt(url("administrator"), deployed("roles.sql"));
    await runAt(url("administrator"), deployed("service-roles.sql"));
    await migrate(url("herald_owner"));
    await run(READ_ALL_STATS);
  }, STACK_TIMEOUT_MS);
  afterAll(async () => {
    await server?.stop();
    removePostgresData(folder);
  }, STACK_TIMEOUT_MS);
  return { url, run };
}

async function runAt(url: string, sql: string): Promise<void> {
  await withClient(url, (client) => client.query(sql));
}

/** A file of deploy/postgres, as psql would run it. */
function deployed(file: string): string {
  const text = readFileSync(join(projectFolder(), "deploy/postgres", file), "utf8");
  return text.replaceAll(/:'\w+_password'/g, `'${PASSWORD}'`);
}
