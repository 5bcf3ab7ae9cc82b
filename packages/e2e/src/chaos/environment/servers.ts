import { join } from "node:path";
import { type Postgres, startPostgres, withClient } from "@herald/dev/stack/postgres";
import { findOrInstallRabbitmq } from "@herald/dev/stack/rabbitmq";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import type pg from "pg";
import type { HeraldTuning } from "../../herald/in-process.ts";

/** Times that differ between scenarios. */
export interface ChaosTimes {
  attemptTimeoutMs: number;
  databaseTimeoutMs: number;
  /** The heartbeat of RabbitMQ's connections: a dead peer shows after two to three of these. */
  heartbeatSeconds: number;
}

/** A quarter of an hour is over in as many seconds, and what is silent is noticed before the run ends. */
export const SHORT_TIMES: ChaosTimes = {
  attemptTimeoutMs: 2_000,
  databaseTimeoutMs: 3_000,
  heartbeatSeconds: 3,
};

/** Herald's own. Nothing may fail or come twice, so nothing may be too slow for this machine either, however busy it is. */
export const USUAL_TIMES: ChaosTimes = {
  attemptTimeoutMs: 15_000,
  databaseTimeoutMs: 30_000,
  heartbeatSeconds: 10,
};

const RETRY_DELAYS_SECONDS = [1, 2, 3, 4];
export const MAX_ATTEMPTS = RETRY_DELAYS_SECONDS.length + 1;
export const DISABLE_AFTER = 5;

/** Settings of the services: SPEC's delays shortened, and these times. */
export function chaosSettings({ attemptTimeoutMs, databaseTimeoutMs }: ChaosTimes): Record<string, string> {
  return {
    ATTEMPT_TIMEOUT_SECONDS: String(attemptTimeoutMs / 1_000),
    RETRY_DELAYS_SECONDS: RETRY_DELAYS_SECONDS.join(","),
    DISABLE_AFTER_FAILURES: String(DISABLE_AFTER),
    DATABASE_TIMEOUT_SECONDS: String(databaseTimeoutMs / 1_000),
    LOG_LEVEL: "info",
  };
}

/** Herald's intervals, and pauses that outlast the restart of a receiver but not the run. */
export const CHAOS_TUNING: HeraldTuning = {
  sweepIntervalMs: 500,
  catchUpIntervalMs: 500,
  noticeIntervalMs: 500,
  pausesMs: [1_000, 2_000, 4_000, 8_000],
};

export interface ServersOptions {
  folder: string;
  /** Skips waiting for the disk, which only a power cut would need. */
  disposable: boolean;
  pause: (durationMs: number) => Promise<void>;
}

/** The servers of a chaos run's Herald. Addresses change with each start. */
export interface Servers {
  databaseUrl(): URL;
  /** The URL of each node that runs; to be tried in this order. */
  amqpUrls(): readonly URL[];
  close(): Promise<void>;
}

/** Starts servers one after the other. Each says how it is stopped as soon as it runs. Where one does not start, those before it are stopped, the last one first. */
export async function startInTurn<Started extends Omit<Servers, "close">>(
  start: (stopWith: (stop: () => Promise<unknown>) => void) => Promise<Started>,
): Promise<Started & Pick<Servers, "close">> {
  const stops: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const stop of stops.reverse()) await stop();
  };
  try {
    return { ...(await start((stop) => stops.push(stop))), close };
  } catch (error) {
    await close();
    throw error;
  }
}

export type FragileServers = Awaited<ReturnType<typeof startServers>>;

const COPY = "herald_copy";

/** Starts a PostgreSQL and a RabbitMQ of one's own, to be treated badly. @throws where no RabbitMQ can be had: only a node of one's own can be killed */
export async function startServers({ folder, disposable, pause }: ServersOptions) {
  const program = await findOrInstallRabbitmq();
  const postgresOptions = { folder: join(folder, "postgres"), disposable };
  // Disposable, so that it does not write everything to disk at its end: each end has to be a hard one.
  const rabbitmqOptions = { folder: join(folder, "rabbitmq"), disposable: true };
  return await startInTurn(async (stopWith) => {
    let postgres: Postgres = await startPostgres(postgresOptions);
    stopWith(() => postgres.remove());
    let rabbitmq: RabbitmqNode = await startRabbitmqNode(program, rabbitmqOptions);
    stopWith(() => rabbitmq.stop());
    return {
      databaseUrl: () => new URL(postgres.url),
      amqpUrls: () => [new URL(rabbitmq.url)],
      /** `immediate`: no session is ended, nothing is written down; it recovers from its log at the next start. */
      async crashPostgres(pauseMs: number) {
        const child = postgres.process;
        process.kill(child.pid, "SIGQUIT");
        await child.exited;
        await pause(pauseMs);
        postgres = await startPostgres(postgresOptions);
      },
      /** `kill -9`, and a start on what it had written. */
      async killRabbitmq(pauseMs: number) {
        await rabbitmq.stop();
        await pause(pauseMs);
        rabbitmq = await startRabbitmqNode(program, rabbitmqOptions);
      },
      /** Makes RabbitMQ believe that it is out of memory. */
      async alarmMemory(durationMs: number) {
        await rabbitmq.control(["set_vm_memory_high_watermark", "absolute", "1MB"]);
        await pause(durationMs);
        await rabbitmq.control(["set_vm_memory_high_watermark", "0.4"]);
      },
      /** Makes a copy of the database as it is at this moment. Its connections break for it. */
      async copyDatabase() {
        await onServer(async (client, name) => {
          // Only a database without connections can be copied.
          await client.query(`alter database "${name}" with allow_connections false`);
          try {
            await client.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [name]);
            await client.query(`create database ${COPY} template "${name}"`);
          } finally {
            await client.query(`alter database "${name}" with allow_connections true`);
          }
        });
      },
      /** Puts the copy in the place of the database. Its connections break. */
      async restoreDatabase() {
        await onServer(async (client, name) => {
          await client.query(`drop database "${name}" with (force)`);
          await client.query(`alter database ${COPY} rename to "${name}"`);
        });
      },
    };

    /** On another database of the same server. */
    async function onServer(task: (client: pg.Client, name: string) => Promise<void>): Promise<void> {
      const url = new URL(postgres.url);
      const name = url.pathname.slice(1);
      url.pathname = "/postgres";
      await withClient(url.href, (client) => task(client, name));
    }
  });
}
