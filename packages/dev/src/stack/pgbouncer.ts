import { chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answers, freePort } from "./ports.ts";
import { unprivilegedUser } from "./postgres-programs.ts";
import { startProcess, untilReady } from "./processes.ts";

const START_TIMEOUT_MS = 30_000;

/** Starts a PgBouncer of transactions on the loopback, before a database, whose user is the only one that may connect. It passes over no startup parameter. */
export async function startPgbouncer(
  program: string,
  { folder, databaseUrl }: { folder: string; databaseUrl: string },
) {
  const database = new URL(databaseUrl);
  const name = database.pathname.slice(1);
  const port = await freePort();
  const users = join(folder, "users.txt");
  const file = join(folder, "pgbouncer.ini");
  mkdirSync(folder, { recursive: true });
  writeFileSync(users, `"${database.username}" "${decodeURIComponent(database.password)}"\n`);
  writeFileSync(
    file,
    [
      "[databases]",
      `${name} = host=${database.hostname} port=${database.port} dbname=${name}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      // Clients need no password; PgBouncer sends PostgreSQL the one of the file.
      "auth_type = trust",
      `auth_file = ${users}`,
      "pool_mode = transaction",
      // Services of a test file together open more than the 100 that it would take.
      "max_client_conn = 1000",
    ].join("\n"),
  );
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined;
  if (user) for (const path of [folder, users, file]) chownSync(path, user.uid, user.gid);
  const running = await startProcess({ name: "pgbouncer", command: program, args: [file], ...(user && { user }) });
  const ask = async () => {
    if (!(await answers(port))) throw new Error("nothing listens");
  };
  await untilReady("PgBouncer", ask, { timeoutMs: START_TIMEOUT_MS, child: running }).catch(async (error) => {
    await running.stop();
    throw error;
  });
  database.host = `127.0.0.1:${port}`;
  return { url: database.href, stop: running.stop };
}
