import { randomBytes } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "./ports.ts";
import { type PostgresPrograms, postgresPrograms, removePostgresData, writeOwn } from "./postgres-programs.ts";
import { type RunningProcess, startProcess, untilReady } from "./processes.ts";
import { runProgram } from "./programs.ts";

export interface PostgresOptions {
  /** Where everything of this server lives; made if it does not exist. Absolute. */
  folder: string;
  /** Tried first; without it any free port. */
  preferredPort?: number;
  /** For data that may be lost in a power cut, as in tests: skips waiting for the disk. */
  disposable?: boolean;
  /** Offers TLS too, with this certificate. */
  tls?: { cert: string; key: string };
}

export interface Postgres {
  /** The URL of the database `herald`, with the rights of a superuser. */
  url: string;
  process: RunningProcess;
  stop(): Promise<void>;
  /** Stops it and deletes its data. */
  remove(): Promise<void>;
}

const USER = "herald";
const DATABASE = "herald";
const START_TIMEOUT_MS = 60_000;

/** Starts a private PostgreSQL, in the version of POSTGRES_VERSION, that listens on the loopback only, its password known to this folder's owner. */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const programs = await postgresPrograms(options.folder);
  const data = join(programs.dataParent, "data");
  // Written after initdb has ended well: a data folder without it is the rest of an interrupted one.
  const finished = join(programs.dataParent, "initialized");
  // Data elsewhere outlives a folder that was deleted, and its password is lost with that folder.
  if (!existsSync(passwordFileOf(options.folder))) rmSync(finished, { force: true });
  const password = readOrMakePassword(options.folder);
  if (!existsSync(finished)) {
    rmSync(data, { recursive: true, force: true });
    await initialize(programs, data, password);
    writeFileSync(finished, "");
  }
  return await launch(options, programs, data, password);
}

async function initialize(programs: PostgresPrograms, data: string, password: string): Promise<void> {
  const passwordFile = join(programs.dataParent, "initdb-password");
  writeOwn(passwordFile, password, programs.user);
  const flags = {
    pgdata: data,
    username: USER,
    pwfile: passwordFile,
    auth: "scram-sha-256",
    encoding: "UTF8",
    locale: "C",
  };
  try {
    await runProgram(
      programs.initdb,
      [...Object.entries(flags).map(([name, value]) => `--${name}=${value}`), "--no-sync"],
      { what: "Creating the PostgreSQL data folder", ...(programs.user && { user: programs.user }) },
    );
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

async function launch(
  options: PostgresOptions,
  programs: PostgresPrograms,
  data: string,
  password: string,
): Promise<Postgres> {
  const port = await freePort(options.preferredPort);
  const settings = {
    port,
    listen_addresses: "127.0.0.1",
    // A socket file would need a folder with a short path; everyone comes over TCP.
    unix_socket_directories: "",
    max_connections: 300,
    ...(options.disposable && { fsync: "off", full_page_writes: "off" }),
    ...(options.tls && writeCertificate(programs, options.tls)),
  };
  const child = await startProcess({
    name: "postgres",
    command: programs.postgres,
    args: ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    ...(programs.user && { user: programs.user }),
    // "Fast": ends sessions and writes everything down. "Immediate", where even that takes too long: recovers at the next start.
    signals: { orderly: "SIGINT", sure: "SIGQUIT" },
  });
  const server = `postgresql://${USER}:${password}@127.0.0.1:${port}`;
  try {
    const ask = () => withClient(`${server}/postgres`, makeDatabase);
    await untilReady("PostgreSQL", ask, { timeoutMs: START_TIMEOUT_MS, child });
  } catch (error) {
    await child.stop();
    throw error;
  }
  return {
    url: `${server}/${DATABASE}`,
    process: child,
    stop: child.stop,
    remove: async () => {
      await child.stop();
      removePostgresData(options.folder);
    },
  };
}

/** Copies the data of a server, which has ended, into the folder of one that starts later. Returns the data folder. At rest its files are whole. */
export async function copyPostgresData(from: string, to: string): Promise<string> {
  const [source, target] = [await postgresPrograms(from), await postgresPrograms(to)];
  const data = join(target.dataParent, "data");
  await runProgram("cp", ["-a", join(source.dataParent, "data"), data], { what: "Copying the PostgreSQL data folder" });
  copyFileSync(passwordFileOf(from), passwordFileOf(to));
  writeFileSync(join(target.dataParent, "initialized"), "");
  return data;
}

async function makeDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [DATABASE]);
  if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
}

/** Runs a task over one connection, and closes it. */
export async function withClient<T>(url: string, task: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on("error", () => {});
  try {
    await client.connect();
    return await task(client);
  } finally {
    await client.end().catch(() => {});
  }
}

const passwordFileOf = (folder: string) => join(folder, "password");

function readOrMakePassword(folder: string): string {
  mkdirSync(folder, { recursive: true });
  const file = passwordFileOf(folder);
  if (existsSync(file)) return readFileSync(file, "utf8").trim();
  const password = randomBytes(18).toString("base64url");
  writeFileSync(file, password, { mode: 0o600 });
  return password;
}

/** Returns the settings that go with it. PostgreSQL refuses a key that others may read. */
function writeCertificate({ dataParent, user }: PostgresPrograms, { cert, key }: { cert: string; key: string }) {
  const files = { ssl_cert_file: join(dataParent, "server.crt"), ssl_key_file: join(dataParent, "server.key") };
  writeOwn(files.ssl_cert_file, cert, user);
  writeOwn(files.ssl_key_file, key, user);
  return { ssl: "on", ...files };
}
