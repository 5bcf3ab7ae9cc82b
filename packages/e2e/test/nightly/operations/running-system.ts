import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@herald/common/database/migrate";
import { certificates } from "@herald/dev/harness/certificates";
import { type Link, startLink } from "@herald/dev/harness/link";
import { askForRabbitmqServer } from "@herald/dev/harness/stack-client";
import { projectFolder } from "@herald/dev/stack/folders";
import { type Postgres, startPostgres } from "@herald/dev/stack/postgres";
import { runToEnd } from "@herald/dev/stack/programs";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import pg from "pg";
import type { HeraldTuning } from "../../../src/herald/in-process.ts";
import { type ServiceName, type ServiceProcess, startServiceProcess } from "../../../src/herald/processes.ts";
import { heraldSettings } from "../../../src/herald/settings.ts";
import type { ComposeVerbs } from "./compose.ts";

const SERVICES = ["management-api", "publisher", "dispatcher"] as const;
const HERALD = join(projectFolder(), "packages", "cli", "dist", "main.js");

export type RunningSystem = Awaited<ReturnType<typeof startSystem>>;

/** A whole Herald as processes, on servers of its own that may be stopped. */
export async function startSystem(
  own: Readonly<Record<string, string>>,
  tuning: HeraldTuning,
  onChange: (targets: string[]) => void,
) {
  const { executable } = await askForRabbitmqServer();
  const folder = mkdtempSync(join(tmpdir(), "herald-operations-"));
  const caFile = join(folder, "ca.pem");
  writeFileSync(caFile, (await certificates()).caPem);
  const closers: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const running = new Map<ServiceName, ServiceProcess[]>();
  const logs = new Map<string, string[]>();
  let postgres: Postgres | undefined;
  let rabbitmq: RabbitmqNode | undefined;

  async function upPostgres(): Promise<void> {
    postgres ??= await startPostgres({ folder: join(folder, "postgres"), disposable: true });
  }
  async function upRabbitmq(): Promise<void> {
    rabbitmq ??= await startRabbitmqNode(executable, { folder: join(folder, "rabbitmq"), disposable: true });
  }
  async function close(): Promise<void> {
    for (const closer of closers.reverse()) await closer();
  }

  closers.push(async () => {
    await rabbitmq?.stop();
    await upPostgres();
    await postgres?.remove();
  });
  try {
    await Promise.all([upPostgres(), upRabbitmq()]);
    const databaseUrl = new URL((postgres as Postgres | undefined)?.url ?? "");
    const amqpUrl = new URL((rabbitmq as RabbitmqNode | undefined)?.url ?? "");
    const seconds = own.DATABASE_TIMEOUT_SECONDS;
    await migrate(databaseUrl.href, seconds === undefined ? {} : { statementTimeoutMs: Number(seconds) * 1_000 });
    // Servers come back on other ports; these stay where they are.
    const links: Link[] = [
      await startLink(() => (postgres ? [new URL(postgres.url)] : [])),
      await startLink(() => (rabbitmq ? [new URL(rabbitmq.url)] : [])),
    ];
    for (const link of links) closers.push(link.close);
    databaseUrl.port = String(links[0]?.port);
    amqpUrl.port = String(links[1]?.port);
    const settings = {
      ...heraldSettings({ databaseUrl: databaseUrl.href, amqpUrl: amqpUrl.href, namespace: "herald", caFile }),
      ...own,
    };
    closers.push(() => Promise.all([...running.values()].flat().map((service) => service.stop())));

    const targets = () => [...running.values()].flat().map(({ operationsUrl }) => operationsUrl.replace("http://", ""));

    async function up(service: ServiceName, count: number): Promise<void> {
      const there = running.get(service) ?? [];
      const lines = logs.get(service) ?? [];
      logs.set(service, lines);
      const onLine = (line: string) => void lines.push(line);
      while (there.length < count) there.push(await startServiceProcess(service, settings, { onLine, tuning }));
      running.set(service, there);
      onChange(targets());
    }
    for (const service of SERVICES) await up(service, 1);

    /** A connection to PostgreSQL that the caller closes. */
    async function connect(): Promise<pg.Client> {
      const client = new pg.Client({ connectionString: databaseUrl.href });
      client.on("error", () => {});
      await client.connect();
      return client;
    }
    async function query(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
      const client = await connect();
      try {
        return (await client.query(sql, values)).rows;
      } finally {
        await client.end();
      }
    }

    const compose: ComposeVerbs = {
      ps: async () => {
        const rows = SERVICES.map((service) => `${service} ${(running.get(service) ?? []).length} up`);
        return `${[...rows, `postgres ${postgres ? 1 : 0} up`, `rabbitmq ${rabbitmq ? 1 : 0} up`].join("\n")}\n`;
      },
      logs: async (service) => `${(logs.get(service) ?? []).slice(-20).join("\n")}\n`,
      async up(services, scale) {
        for (const service of services) {
          if (service === "postgres") await upPostgres();
          else if (service === "rabbitmq") await upRabbitmq();
          else await up(named(service), scale[service] ?? Math.max(1, running.get(named(service))?.length ?? 0));
        }
        return "";
      },
      async restart(services) {
        for (const service of services.map(named)) {
          const there = running.get(service) ?? [];
          running.set(service, []);
          await Promise.all(there.map((each) => each.stop()));
          await up(service, Math.max(1, there.length));
        }
        return "";
      },
      async exec(service, [program = "", ...args]) {
        if (service === "postgres" && program === "psql") {
          const sql = args[args.indexOf("--command") + 1] ?? "";
          // A minute of the runbook takes a second here, as the rules are shortened.
          const rows = await query(sql.replaceAll("interval '1 minute'", "interval '1 second'"));
          return rows.map((row) => `${Object.values(row).join(" | ")}\n`).join("");
        }
        if (service === "rabbitmq" && rabbitmq && ["rabbitmqctl", "rabbitmq-diagnostics"].includes(program)) {
          // rabbitmqctl knows what rabbitmq-diagnostics tells of alarms.
          return await rabbitmq.control(program === "rabbitmqctl" ? args : ["eval", "rabbit_alarm:get_alarms()."]);
        }
        throw new Error(`${service} can't run ${program} now.`);
      },
      async run(service, command) {
        if (service !== "herald") throw new Error(`The runbook runs a ${service}.`);
        const env = { PATH: process.env.PATH, ...settings };
        const { code, stdout, stderr } = await runToEnd(process.execPath, [HERALD, ...command], { env });
        // In an incident the doctor finds faults, and ends with 1: its table is what the operator asked for.
        if (code !== 0 && !(code === 1 && stdout !== "")) throw new Error(`herald ${command.join(" ")}: ${stderr}`);
        return stdout;
      },
    };

    return {
      namespace: "herald",
      amqpUrl: amqpUrl.href,
      apiUrl: () => `http://127.0.0.1:${running.get("management-api")?.[0]?.port}`,
      query,
      connect,
      /** `kill -9` of all processes of it. */
      async kill(service: ServiceName) {
        const there = running.get(service) ?? [];
        running.set(service, []);
        await Promise.all(there.map((each) => each.kill()));
      },
      /** Resolves when every process is ready for work. */
      ready: async () => void (await Promise.all([...running.values()].flat().map((service) => service.ready()))),
      /** Ends the server at once, with all its connections. */
      async stopPostgres() {
        const child = postgres?.process;
        postgres = undefined;
        if (child) process.kill(child.pid, "SIGQUIT");
        await child?.exited;
      },
      async stopRabbitmq() {
        const node = rabbitmq;
        rabbitmq = undefined;
        await node?.stop();
      },
      /** Sets RabbitMQ's memory alarm, or ends it. */
      async setMemoryAlarm(isSet: boolean) {
        const limit = isSet ? ["absolute", "1MB"] : ["0.4"];
        await rabbitmq?.control(["set_vm_memory_high_watermark", ...limit]);
      },
      /** The runbook's verbs for it. */
      compose,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function named(service: string): ServiceName {
  const found = SERVICES.find((name) => name === service);
  if (found === undefined) throw new Error(`The runbook starts a ${service}.`);
  return found;
}
