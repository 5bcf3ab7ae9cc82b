import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@herald/common/database/migrate";
import { makeAuthority } from "@herald/dev/certificates/authority";
import { type Link, startLink } from "@herald/dev/harness/link";
import { nameServer } from "@herald/dev/harness/name-server";
import { startServiceProcess } from "../../herald/processes.ts";
import { heraldSettings } from "../../herald/settings.ts";
import { LINKS, SERVICES, type ServiceLabel } from "../plan/faults.ts";
import type { History } from "../verdict/history.ts";
import { CHAOS_TUNING, type ChaosTimes, chaosSettings, type Servers, type ServersOptions } from "./servers.ts";
import { type SupervisedService, superviseService } from "./supervisor.ts";

export type ChaosEnvironment<S extends Servers = Servers> = Awaited<ReturnType<typeof openEnvironment<S>>>;

export interface EnvironmentOptions<S extends Servers> {
  startServers: (options: ServersOptions) => Promise<S>;
  times: ChaosTimes;
  /** PostgreSQL needn't wait for the disk. */
  disposable: boolean;
  pause: (durationMs: number) => Promise<void>;
  progress: (text: string) => void;
}

const NAMESPACE = "herald";

/** A whole Herald, two of each service, every connection through a proxy of its own. */
export async function openEnvironment<S extends Servers>(options: EnvironmentOptions<S>) {
  const { times, disposable, pause, progress } = options;
  const folder = await mkdtemp(join(tmpdir(), "herald-chaos-"));
  const logFolder = join(folder, "log");
  await mkdir(logFolder);
  const closers: (() => Promise<unknown>)[] = [];
  const close = async ({ keepFolder }: { keepFolder: boolean }) => {
    for (const closer of closers.reverse()) await closer();
    if (!keepFolder) await rm(folder, { recursive: true, force: true });
  };
  try {
    progress("Bringing up PostgreSQL and RabbitMQ");
    const servers = await options.startServers({ folder, disposable, pause });
    closers.push(servers.close);
    await migrate(servers.databaseUrl().href, { statementTimeoutMs: times.databaseTimeoutMs });
    const names = await nameServer();
    closers.push(names.close);
    let authority = await makeAuthority("Herald chaos authority 1");
    let authorities = 1;
    const caFile = join(folder, "ca.pem");
    await writeFile(caFile, authority.cert);
    const certificate = () => authority.issue({ names: ["*.receiver.test"] });

    /** By their labels: `dispatcher-1>postgres`. */
    const links = new Map<string, Link>();
    for (const label of LINKS) {
      const link = await startLink(label.endsWith(">postgres") ? () => [servers.databaseUrl()] : servers.amqpUrls);
      links.set(label, link);
      closers.push(link.close);
    }
    const throughLink = (url: URL, link: string) => {
      url.port = String(links.get(link)?.port);
      return url;
    };
    /** The broker's URL for a client that connects over this link. */
    const amqpUrlOver = (link: string) => {
      const url = throughLink(new URL((servers.amqpUrls()[0] as URL).href), link);
      url.searchParams.set("heartbeat", String(times.heartbeatSeconds));
      return url.href;
    };

    progress("Starting two of each service");
    const settingsOf = (label: string): Record<string, string> => ({
      ...heraldSettings({
        databaseUrl: throughLink(servers.databaseUrl(), `${label}>postgres`).href,
        amqpUrl: amqpUrlOver(`${label}>rabbitmq`),
        namespace: NAMESPACE,
        caFile,
      }),
      ...chaosSettings(times),
      DNS_SERVERS: names.address,
    });
    const services = new Map<ServiceLabel, SupervisedService>();
    const ownEnds: History["ownEnds"] = [];
    const standstills: History["standstills"] = [];
    /** Also of a clock that was set: the service can't tell the two apart. The time of the line is by that clock. */
    const noticeStandstill = (target: string, line: string) => {
      const [, gapMs] = /"byMonotonicClockMs":(\d+),.*"this process stood still/.exec(line) ?? [];
      const until = Date.now();
      if (gapMs) standstills.push({ kind: "stood-still", target, from: until - Number(gapMs), until });
    };
    // One after the other: at once they would take each other's time to get ready.
    for (const label of SERVICES) {
      const log = createWriteStream(join(logFolder, `${label}.log`));
      const service = await superviseService({
        label,
        settings: settingsOf(label),
        tuning: CHAOS_TUNING,
        onLine(line) {
          log.write(`${line}\n`);
          noticeStandstill(label, line);
        },
        onOwnEnd: (lastLines) => ownEnds.push({ service: label, at: Date.now(), lastLines }),
        pause,
      });
      services.set(label, service);
      closers.push(async () => {
        await service.stop();
        log.end();
      });
    }
    let asked = 0;
    let beside = 1;
    return {
      folder,
      namespace: NAMESPACE,
      servers,
      links,
      services,
      /** Starts one more of them, or all three in one process, beside those; it is the caller's to end. */
      async startBeside(name: "dispatcher" | "serve") {
        const log = createWriteStream(join(logFolder, `${name}-beside-${beside++}.log`));
        const service = await startServiceProcess(name, settingsOf("dispatcher-1"), {
          tuning: CHAOS_TUNING,
          onLine: (line) => log.write(`${line}\n`),
        });
        void service.process.exited.then(() => log.end());
        closers.push(service.stop);
        return service;
      },
      /** Says where every receiver is, to the dispatchers. */
      nameServer: names,
      receiverCertificate: await certificate(),
      /** Adds an authority to the file of those that receivers' certificates may come from; returns a certificate of it. The one before it stays for a time. */
      async newAuthority() {
        const before = authority.cert;
        // By its name alone OpenSSL could not tell it from the one before: these certificates have no identifiers of keys.
        authorities += 1;
        authority = await makeAuthority(`Herald chaos authority ${authorities}`);
        await writeFile(`${caFile}.new`, before + authority.cert);
        await rename(`${caFile}.new`, caFile);
        return await certificate();
      },
      ownEnds,
      standstills,
      amqpUrlOver,
      /** One of the management APIs, another one each time. */
      apiUrl() {
        const service = services.get(asked++ % 2 === 0 ? "management-api-1" : "management-api-2");
        return `http://127.0.0.1:${service?.current().port}`;
      },
      close,
    };
  } catch (error) {
    await close({ keepFolder: false });
    throw error;
  }
}
