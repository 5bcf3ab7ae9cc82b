import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@herald/common/database/migrate";
import { openDatabase } from "@herald/common/database/open-database";
import { type ServiceName, type ServiceProcess, startServiceProcess } from "@herald/e2e/herald/processes";
import { type HeraldEnvironment, heraldSettings } from "@herald/e2e/herald/settings";
import { type KeyPair, makeAuthority } from "@herald/testkit/certificates/authority";
import { startPostgres } from "@herald/testkit/stack/postgres";
import { type Rabbitmq, startRabbitmq } from "@herald/testkit/stack/rabbitmq";
import { type ServerWork, serverWork } from "./server-work.ts";

/** The servers of one run: everything real, everything its own, on this machine. */
export interface BenchPlace {
  /** PEM of the authority behind `receiverCertificate`. */
  readonly ca: string;
  readonly receiverCertificate: KeyPair;
  /** A Herald of its own on these servers: an empty database and names of its own on the broker. */
  openSite(name: string): Promise<Site>;
  /** Ends everything and deletes the data. */
  close(): Promise<void>;
}

export interface Site extends HeraldEnvironment {
  /** What the servers have done so far for everybody. */
  serverWork(): Promise<ServerWork>;
  start(name: ServiceName, settings?: Record<string, string>): Promise<ServiceProcess>;
  /** Stops its services and drops its database; does nothing the second time. */
  close(): Promise<void>;
}

export interface PlaceOptions {
  progress: (text: string) => void;
  /** Where each service writes a CPU profile when it stops; none where absent. */
  profileFolder?: string | undefined;
}

export async function openBenchPlace({ progress, profileFolder }: PlaceOptions): Promise<BenchPlace> {
  const folder = await mkdtemp(join(tmpdir(), "herald-bench-"));
  const pidFolder = join(folder, "processes");
  await mkdir(pidFolder, { recursive: true });
  const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const closer of closers.reverse()) await closer();
  };
  try {
    progress("Bringing up PostgreSQL and RabbitMQ");
    // Not disposable: a measurement that doesn't wait for the disk measures another system.
    const postgres = await startPostgres({ folder: join(folder, "postgres"), pidFolder });
    closers.push(postgres.remove);
    const rabbitmq = await startRabbitmq({ folder: join(folder, "rabbitmq"), pidFolder });
    closers.push(rabbitmq.stop);
    const authority = await makeAuthority("Herald bench authority");
    const caFile = join(folder, "ca.pem");
    await writeFile(caFile, authority.cert);
    let sites = 0;
    return {
      ca: authority.cert,
      receiverCertificate: await authority.issue({ names: ["localhost", "127.0.0.1"] }),
      async openSite(name) {
        sites += 1;
        const site = await openSite(
          { databaseUrl: postgres.url, amqpUrl: rabbitmq.url, namespace: `bench-${name}-${sites}`, caFile },
          { profileFolder, control: rabbitmq.control },
        );
        // Of a measurement that failed in the middle.
        closers.push(site.close);
        return site;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @param place with the URL of any database of the server */
async function openSite(
  place: HeraldEnvironment,
  { profileFolder, control }: { profileFolder: string | undefined; control: Rabbitmq["control"] },
): Promise<Site> {
  const database = `"${place.namespace}"`;
  await onServer(place.databaseUrl, `create database ${database}`);
  const url = new URL(place.databaseUrl);
  url.pathname = `/${place.namespace}`;
  const own = { ...place, databaseUrl: url.href };
  await migrate(own.databaseUrl);
  const services = new Set<ServiceProcess>();
  let closed = false;
  return {
    ...own,
    serverWork: () => serverWork(own.databaseUrl, control),
    async start(name, settings = {}) {
      const profiling = profileFolder ? ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`] : [];
      const service = await startServiceProcess(name, { ...heraldSettings(own), ...settings }, { nodeArgs: profiling });
      services.add(service);
      return service;
    },
    async close() {
      if (closed) return;
      closed = true;
      await Promise.all([...services].map((service) => service.stop()));
      await onServer(place.databaseUrl, `drop database ${database} with (force)`);
    },
  };
}

async function onServer(url: string, statement: string): Promise<void> {
  const server = openDatabase(url, { statementTimeoutMs: 60_000 });
  try {
    await server.prisma.$executeRawUnsafe(statement);
  } finally {
    await server.close();
  }
}
