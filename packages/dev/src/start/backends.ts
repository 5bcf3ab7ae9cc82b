import { join } from "node:path";
import { startPostgres } from "../stack/postgres.ts";
import { apartByVersion } from "../stack/postgres-programs.ts";
import { startRabbitmq } from "../stack/rabbitmq.ts";
import { apartByRabbitmqVersion } from "../stack/rabbitmq-versions.ts";
import type { Progress } from "./panel.ts";

type Close = () => Promise<void>;
export type Closing = ReturnType<typeof closing>;

/** The parts that have to be closed, in an order that lets each part finish its work with the others. */
export function closing() {
  const first: Close[] = [];
  const last: Close[] = [];
  let result: Promise<void> | undefined;
  return {
    add: (close: Close) => void first.push(close),
    /** Closed when all others are. */
    addLast: (close: Close) => void last.push(close),
    /** One that fails does not keep the others from being closed. */
    close: () => {
      result ??= closeAll([first, last]);
      return result;
    },
  };
}

async function closeAll(rounds: Close[][]): Promise<void> {
  const failures: unknown[] = [];
  for (const round of rounds) {
    const results = await Promise.allSettled(round.map((close) => close()));
    failures.push(...results.flatMap((result) => (result.status === "rejected" ? [result.reason] : [])));
  }
  if (failures.length > 0) throw new AggregateError(failures, "Not everything could be closed.");
}

/**
 * Starts PostgreSQL and RabbitMQ at the same time, or takes the ones that DATABASE_URL and AMQP_URL name. Where one fails,
 * it still waits for the start of the other, so that `parts` can end it.
 */
export async function startBackends(
  { local, namespace }: { local: string; namespace: string },
  parts: Closing,
  progress: Progress,
) {
  let reportEnd: (error: Error) => void = () => {};
  /** Resolves when a server of ours has ended by itself. */
  const ended = new Promise<Error>((resolve) => {
    reportEnd = resolve;
  });
  const watch = (name: string, exited: Promise<unknown> | undefined) =>
    exited?.then(() => reportEnd(new Error(`${name} ended by itself. Its data is kept; start again.`)));

  const startDatabase = async () => {
    if (process.env.DATABASE_URL) {
      progress.say("PostgreSQL: the one that DATABASE_URL names");
      return process.env.DATABASE_URL;
    }
    return await progress.step("PostgreSQL", async () => {
      const postgres = await startPostgres({ folder: join(local, apartByVersion("postgres")), preferredPort: 5432 });
      parts.addLast(() => postgres.stop());
      void watch("PostgreSQL", postgres.process.exited);
      return postgres.url;
    });
  };
  const startBroker = () =>
    progress.step("RabbitMQ", async (onProgress) => {
      const folder = join(local, apartByRabbitmqVersion("rabbitmq"));
      const rabbitmq = await startRabbitmq({ folder, usersOf: namespace, preferredPort: 5672, onProgress });
      parts.addLast(() => rabbitmq.stop());
      void watch("RabbitMQ", rabbitmq.exited);
      return rabbitmq;
    });

  const [database, broker] = await Promise.allSettled([startDatabase(), startBroker()]);
  if (database.status === "rejected") throw database.reason;
  if (broker.status === "rejected") throw broker.reason;
  return { databaseUrl: database.value, amqpUrl: broker.value.url, serviceUrls: broker.value.serviceUrls, ended };
}
