import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { applyDefaults, type DefaultsOptions, databaseDefaults } from "@herald/common/database/database-defaults";
import { migrate } from "@herald/common/database/migrate";
import { migrationsFolder } from "@herald/common/database/migrations";
import type pg from "pg";
import { withClient } from "../stack/postgres.ts";

/** Makes a migrated database that test files clone, once for each state of the migrations, and returns its name. */
export async function makeTemplateDatabase(serverUrl: string): Promise<string> {
  const name = `herald_template_${fingerprint(migrationsFolder())}`;
  await withClient(serverUrl, async (client) => {
    // Several runs may share a server; the second waits here and finds the template made.
    await client.query("SELECT pg_advisory_lock(hashtext($1))", [name]);
    const { rowCount } = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [name]);
    if (rowCount !== 0) return;
    const draft = `${name}_draft`;
    await client.query(`DROP DATABASE IF EXISTS ${draft} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${draft}`);
    await migrate(databaseUrl(serverUrl, draft));
    await client.query(`ALTER DATABASE ${draft} RENAME TO ${name}`);
  });
  return name;
}

/**
 * Clones the template; a clone takes a fraction of a second, where migrating would take longer with every migration. A template
 * hands on no defaults, so the clone gets its own; none if they are left out, as a database that is not Herald's.
 */
export async function cloneDatabase(
  serverUrl: string,
  template: string,
  name: string,
  defaults?: DefaultsOptions,
): Promise<string> {
  const url = databaseUrl(serverUrl, name);
  await withClient(serverUrl, (client) => client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`));
  if (defaults) await withClient(url, (client) => applyDefaults(client, databaseDefaults(defaults)));
  return url;
}

/** Drops a database, and returns the application names of connections that were still open. */
export async function dropDatabase(serverUrl: string, name: string): Promise<string[]> {
  return await withClient(serverUrl, async (client) => {
    const open = await openConnections(client, name);
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    return open;
  });
}

/** A connection that its pool has ended is seen for a moment longer, so a second look decides. */
async function openConnections(client: pg.Client, name: string): Promise<string[]> {
  const deadline = Date.now() + 2_000;
  for (;;) {
    const { rows } = await client.query<{ application: string }>(
      "SELECT application_name AS application FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'",
      [name],
    );
    if (rows.length === 0 || Date.now() > deadline) return rows.map((row) => row.application || "without a name");
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

function fingerprint(folder: string): string {
  const hash = createHash("sha256");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".sql"));
  for (const name of names.sort()) hash.update(name).update(readFileSync(join(folder, name)));
  return hash.digest("hex").slice(0, 12);
}
