import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@herald/common/database/migrate";
import { type KeyPair, makeAuthority } from "@herald/dev/certificates/authority";
import { localFolder, projectFolder } from "@herald/dev/stack/folders";
import { startPostgres, withClient } from "@herald/dev/stack/postgres";
import { runProgram } from "@herald/dev/stack/programs";
import { startRabbitmq } from "@herald/dev/stack/rabbitmq";
import { type ServiceName, type ServiceProcess, startServiceProcess } from "@herald/e2e/herald/processes";
import { type HeraldEnvironment, heraldSettings } from "@herald/e2e/herald/settings";

/** The servers of one run: everything real, everything its own, on this machine. */
export interface BenchEnvironment {
  /** For this machine and for all of receivers.example. */
  readonly receiverCertificate: KeyPair;
  /** The authority that it comes from, in PEM. */
  readonly authority: string;
  /** The folder of the code that is measured. */
  readonly code: string;
  /** A Herald of its own on these servers: an empty database and names of its own on the broker. */
  openHerald(name: string): Promise<BenchHerald>;
  /** The same servers, with the services and migrations of another commit's code. */
  withCode(folder: string): BenchEnvironment;
  /** Ends everything and deletes the data. */
  close(): Promise<void>;
}

export interface BenchHerald extends HeraldEnvironment {
  start(name: ServiceName, settings?: Record<string, string>): Promise<ServiceProcess>;
  /** Stops its services and drops its database; does nothing the second time. */
  close(): Promise<void>;
}

export async function openBenchEnvironment(progress: (text: string) => void): Promise<BenchEnvironment> {
  const folder = await mkdtemp(join(tmpdir(), "herald-bench-"));
  const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const closer of closers.reverse()) await closer();
  };
  try {
    progress("Bringing up PostgreSQL and RabbitMQ");
    // Not disposable: a measurement that doesn't wait for the disk measures another system.
    const postgres = await startPostgres({ folder: join(folder, "postgres") });
    closers.push(postgres.remove);
    const rabbitmq = await startRabbitmq({ folder: join(folder, "rabbitmq") });
    closers.push(rabbitmq.stop);
    const authority = await makeAuthority("Herald bench authority");
    const caFile = join(folder, "ca.pem");
    await writeFile(caFile, authority.cert);
    const receiverCertificate = await authority.issue({ names: ["localhost", "127.0.0.1", "*.receivers.example"] });
    let opened = 0;
    const withCode = (code?: string): BenchEnvironment => ({
      receiverCertificate,
      authority: authority.cert,
      code: code ?? projectFolder(),
      async openHerald(name) {
        opened += 1;
        const herald = await openHerald(
          { databaseUrl: postgres.url, amqpUrl: rabbitmq.url, namespace: `bench-${name}-${opened}`, caFile },
          code,
        );
        // For a measurement that failed in the middle.
        closers.push(herald.close);
        return herald;
      },
      withCode,
      close,
    });
    return withCode();
  } catch (error) {
    await close();
    throw error;
  }
}

/** On the server of the environment's database, and by the code of another commit's folder, or of this one. */
async function openHerald(environment: HeraldEnvironment, code: string | undefined): Promise<BenchHerald> {
  const database = `"${environment.namespace}"`;
  const onServer = (statement: string) => withClient(environment.databaseUrl, (client) => client.query(statement));
  await onServer(`create database ${database}`);
  const url = new URL(environment.databaseUrl);
  url.pathname = `/${environment.namespace}`;
  const own = { ...environment, databaseUrl: url.href };
  // Measurements count whole tables, on connections that the services' own limit would end.
  await migrate(own.databaseUrl, {
    statementTimeoutMs: 600_000,
    ...(code !== undefined && { folder: join(code, "prisma", "migrations") }),
  });
  const services = new Set<ServiceProcess>();
  let closed = false;
  return {
    ...own,
    async start(name, settings = {}) {
      const service = await startServiceProcess(name, { ...heraldSettings(own), ...settings }, { folder: code });
      services.add(service);
      return service;
    },
    async close() {
      if (closed) return;
      closed = true;
      await Promise.all([...services].map((service) => service.stop()));
      await onServer(`drop database ${database} with (force)`);
    },
  };
}

const BUILD_TIMEOUT_MS = 30 * 60_000;

/**
 * The folder of an earlier commit, with which rows are compared: built beside this one, in the local folder, once. Its processes have to take the same
 * settings and speak to the same servers.
 */
export async function buildBaseline(commit: string, progress: (text: string) => void): Promise<string> {
  const git = (args: string[], what: string) => runProgram("git", args, { what, cwd: projectFolder() });
  const hash = (
    await git(["rev-parse", "--verify", "--end-of-options", `${commit}^{commit}`], `Looking for the commit ${commit}`)
  ).trim();
  const folder = join(localFolder(), "baseline", hash.slice(0, 12));
  const built = join(folder, ".built");
  if (existsSync(built)) return folder;
  progress(`Building ${commit}, which takes some minutes`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // An archive and no worktree: git has nothing to forget when the folder goes.
  const archive = join(folder, "code.tar");
  await git(["archive", "--output", archive, hash], `Reading ${commit}`);
  const inside = { cwd: folder, timeoutMs: BUILD_TIMEOUT_MS };
  await runProgram("tar", ["-xf", archive], { what: `Unpacking ${commit}`, ...inside });
  const pnpm = (args: string[], what: string) => runProgram("npx", ["-y", "pnpm@12", ...args], { what, ...inside });
  await pnpm(["install", "--frozen-lockfile"], `Installing ${commit}`);
  await pnpm(["build"], `Building ${commit}`);
  rmSync(archive);
  writeFileSync(built, "");
  return folder;
}
