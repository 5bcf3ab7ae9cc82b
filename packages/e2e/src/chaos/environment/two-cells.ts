import { join } from "node:path";
import { type Postgres, startPostgres } from "@herald/dev/stack/postgres";
import { findOrInstallRabbitmq } from "@herald/dev/stack/rabbitmq";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import type { ServedCell, Servers, ServersOptions } from "./servers.ts";

/** A RabbitMQ, and two Heralds with eight buckets and a PostgreSQL each. */
export interface CellServers extends Servers {
  readonly cells: readonly [ServedCell, ServedCell];
}

export async function startCellServers({ folder, pidFolder, disposable }: ServersOptions): Promise<CellServers> {
  const program = await findOrInstallRabbitmq();
  const databases: Postgres[] = [];
  let rabbitmq: RabbitmqNode | undefined;

  async function close(): Promise<void> {
    await rabbitmq?.stop();
    for (const postgres of databases) await postgres.remove();
  }

  async function startCell(name: string, digits: string): Promise<ServedCell> {
    const postgres = await startPostgres({
      folder: join(folder, `postgres-${name}`),
      // Its files are named after what runs.
      pidFolder: join(pidFolder, name),
      disposable,
    });
    databases.push(postgres);
    return { name, buckets: [...digits], databaseUrl: () => new URL(postgres.url) };
  }

  try {
    const cells = [await startCell("a", "01234567"), await startCell("b", "89abcdef")] as const;
    const broker = await startRabbitmqNode(program, { folder: join(folder, "rabbitmq"), pidFolder, disposable: true });
    rabbitmq = broker;
    return {
      cells,
      databaseUrl: cells[0].databaseUrl,
      amqpUrls: () => [new URL(broker.url)],
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
