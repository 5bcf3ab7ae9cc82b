import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@herald/common/database";
import { type KeyPair, makeAuthority } from "@herald/devkit/certificates";
import { startPostgres, startRabbitmq } from "@herald/devkit/stack";
import { type ServiceName, type ServiceProcess, startServiceProcess } from "../herald/processes.ts";
import { type HeraldPlace, heraldSettings } from "../herald/settings.ts";

/** A whole Herald for one run of measurements: everything real, everything its own, on this machine. */
export interface BenchPlace extends HeraldPlace {
  /** PEM of the authority behind `receiverCertificate`. */
  ca: string;
  receiverCertificate: KeyPair;
  start(name: ServiceName, settings?: Record<string, string>): Promise<ServiceProcess>;
  /** Ends everything and deletes the data. */
  close(): Promise<void>;
}

export async function openBenchPlace(progress: (text: string) => void): Promise<BenchPlace> {
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
    await migrate(postgres.url);
    const authority = await makeAuthority("Herald bench authority");
    const caFile = join(folder, "ca.pem");
    await writeFile(caFile, authority.cert);
    const place = { databaseUrl: postgres.url, amqpUrl: rabbitmq.url, namespace: "herald", caFile };
    return {
      ...place,
      ca: authority.cert,
      receiverCertificate: await authority.issue({ names: ["localhost", "127.0.0.1"] }),
      async start(name, settings = {}) {
        const service = await startServiceProcess(name, { ...heraldSettings(place), ...settings });
        closers.push(service.stop);
        return service;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
