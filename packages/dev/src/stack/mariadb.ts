import { randomBytes } from "node:crypto";
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { freePort } from "./ports.ts";
import { unprivilegedUser, writeOwn } from "./postgres-programs.ts";
import { type RunningProcess, startProcess, untilReady } from "./processes.ts";
import { runProgram } from "./programs.ts";

export interface MariadbPrograms {
  installDb: string;
  server: string;
}

export interface MariadbOptions {
  /** Where everything of this server lives; made if it does not exist. Absolute, and in folders that every user may enter. */
  folder: string;
  pidFolder: string;
  /** Offers TLS too, with this certificate. */
  tls?: { cert: string; key: string };
}

export interface Mariadb {
  /** Of the database `herald`, with all rights. */
  url: string;
  process: RunningProcess;
  stop(): Promise<void>;
  /** Stops it and deletes its data. */
  remove(): Promise<void>;
}

const NAME = "herald";
const START_TIMEOUT_MS = 120_000;

/** Starts a private MariaDB that listens on the loopback only, its password known to this folder's owner. Its data is for tests: they may be lost in a power cut. */
export async function startMariadb(programs: MariadbPrograms, options: MariadbOptions): Promise<Mariadb> {
  const { folder, pidFolder, tls } = options;
  const [data, finished, passwordFile] = ["data", "initialized", "password"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined;
  const write = (file: string, text: string) => writeOwn(file, text, user);
  mkdirSync(folder, { recursive: true });
  if (user) chownSync(folder, user.uid, user.gid);
  if (!existsSync(passwordFile)) write(passwordFile, randomBytes(18).toString("base64url"));
  const password = readFileSync(passwordFile, "utf8");
  if (!existsSync(finished)) {
    rmSync(data, { recursive: true, force: true });
    await initialize(programs, data, user);
    writeFileSync(finished, "");
  }
  const initFile = join(folder, "init.sql");
  write(
    initFile,
    [
      `create or replace user ${NAME}@'%' identified by '${password}';`,
      `grant all on *.* to ${NAME}@'%' with grant option;`,
      // It was made without a password.
      "alter user root@localhost account lock;",
      `create database if not exists ${NAME};`,
    ].join("\n"),
  );
  const certificate = { "ssl-cert": join(folder, "server.crt"), "ssl-key": join(folder, "server.key") };
  if (tls) {
    write(certificate["ssl-cert"], tls.cert);
    write(certificate["ssl-key"], tls.key);
  }
  const port = await freePort();
  const settings = {
    datadir: data,
    port,
    "bind-address": "127.0.0.1",
    socket: join(folder, "socket"),
    "pid-file": join(folder, "mariadb.pid"),
    "init-file": initFile,
    "lc-messages": "en_US",
    "max-connections": 200,
    "innodb-flush-log-at-trx-commit": 2,
    ...(tls && certificate),
  };
  const child = await startProcess({
    name: "mariadb",
    command: programs.server,
    args: [
      "--no-defaults",
      "--skip-name-resolve",
      ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
    ],
    ...(user && { user }),
    pidFolder,
    mark: data,
  });
  const url = `mysql://${NAME}:${password}@127.0.0.1:${port}/${NAME}`;
  try {
    const ask = async () => (await createConnection({ uri: url, connectTimeout: 5_000 })).end();
    await untilReady("MariaDB", ask, { timeoutMs: START_TIMEOUT_MS, child });
  } catch (error) {
    await child.stop();
    throw error;
  }
  return {
    url,
    process: child,
    stop: () => child.stop(60_000),
    remove: async () => {
      await child.stop(60_000);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function initialize(programs: MariadbPrograms, data: string, user?: { uid: number; gid: number }): Promise<void> {
  await runProgram(
    programs.installDb,
    ["--no-defaults", `--datadir=${data}`, "--auth-root-authentication-method=normal", "--skip-test-db"],
    { what: "Creating the MariaDB data folder", cwd: "/", ...(user && { user }) },
  );
}
