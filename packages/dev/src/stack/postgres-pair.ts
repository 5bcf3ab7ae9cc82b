import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyPostgresData, type Postgres, type PostgresOptions, startPostgres, withClient } from "./postgres.ts";
import { untilReady } from "./processes.ts";

const STANDBY = "herald_standby";
const FOLLOWS_WITHIN_MS = 60_000;
const PROMOTED_WITHIN_SECONDS = 60;

/**
 * Starts two PostgreSQL servers on the loopback, each in its own folder, and resolves when the standby follows the primary. A commit of the primary
 * waits until the standby has it on its disk. The standby can be read, and takes writes once it is promoted.
 */
export async function startPostgresPair(options: PostgresOptions) {
  const optionsOf = (name: string): PostgresOptions => ({ ...options, folder: join(options.folder, name) });
  const [ofPrimary, ofStandby] = [optionsOf("primary"), optionsOf("standby")];
  await (await startPostgres(ofPrimary)).stop();
  const data = await copyPostgresData(ofPrimary.folder, ofStandby.folder);
  const primary = await startPostgres(ofPrimary);
  let standby: Postgres | undefined;
  try {
    follow(data, new URL(primary.url));
    standby = await startPostgres(ofStandby);
    await untilReplication(primary, "state", "streaming");
    await withClient(primary.url, async (client) => {
      await client.query(`alter system set synchronous_standby_names = '${STANDBY}'`);
      await client.query("select pg_reload_conf()");
    });
    await untilReplication(primary, "sync_state", "sync");
    return { primary, standby };
  } catch (error) {
    await Promise.all([primary.remove(), standby?.remove()]);
    throw error;
  }
}

/** Makes a standby take writes, with all that it has received. @throws where it doesn't within a minute */
export async function promoteStandby(standby: Postgres): Promise<void> {
  const promoted = await withClient(standby.url, async (client) => {
    const { rows } = await client.query<{ promoted: boolean }>("select pg_promote(true, $1) as promoted", [
      PROMOTED_WITHIN_SECONDS,
    ]);
    return rows[0]?.promoted;
  });
  if (!promoted) throw new Error(`The standby was not promoted within ${PROMOTED_WITHIN_SECONDS} s.`);
}

/** Whether a commit of the primary waits for the standby at this moment. */
export async function isInSync(primary: Postgres): Promise<boolean> {
  return (await replication(primary))?.sync_state === "sync";
}

/** Writes into a data folder which primary its server follows. The servers' files are readable for their user alone, so a password may stand there. */
function follow(data: string, { hostname, port, username, password }: URL): void {
  const address = `host=${hostname} port=${port} user=${username} password=${password} application_name=${STANDBY}`;
  appendFileSync(join(data, "postgresql.auto.conf"), `primary_conninfo = '${address}'\n`);
  writeFileSync(join(data, "standby.signal"), "");
}

async function untilReplication(primary: Postgres, field: keyof Replication, wanted: string): Promise<void> {
  const ask = async () => {
    const found = (await replication(primary))?.[field];
    if (found !== wanted) throw new Error(`its ${field} is ${found ?? "unknown"}, and not ${wanted}`);
  };
  await untilReady("The standby", ask, { timeoutMs: FOLLOWS_WITHIN_MS });
}

interface Replication {
  state: string;
  sync_state: string;
}

/** The state of the standby by the primary; undefined if none is connected. */
async function replication(primary: Postgres): Promise<Replication | undefined> {
  return await withClient(primary.url, async (client) => {
    const { rows } = await client.query<Replication>(
      "select state, sync_state from pg_stat_replication where application_name = $1",
      [STANDBY],
    );
    return rows[0];
  });
}
