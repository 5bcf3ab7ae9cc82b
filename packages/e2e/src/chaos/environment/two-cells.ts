import { join } from "node:path";
import { startPostgres } from "@herald/dev/stack/postgres";
import { findOrInstallRabbitmq } from "@herald/dev/stack/rabbitmq";
import { startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { type ServedCell, type Servers, type ServersOptions, startInTurn } from "./servers.ts";

/** A RabbitMQ, and two Heralds with eight buckets and a PostgreSQL each. */
export interface CellServers extends Servers {
  readonly cells: readonly [ServedCell, ServedCell];
}

export async function startCellServers({ folder, pidFolder, disposable }: ServersOptions): Promise<CellServers> {
  const program = await findOrInstallRabbitmq();
  return await startInTurn(async (stopWith) => {
    async function startCell(name: string, digits: string): Promise<ServedCell> {
      // The files of its processes are named after what runs.
      const own = { folder: join(folder, `postgres-${name}`), pidFolder: join(pidFolder, name) };
      const postgres = await startPostgres({ ...own, disposable });
      stopWith(() => postgres.remove());
      return { name, buckets: [...digits], databaseUrl: () => new URL(postgres.url) };
    }

    const cells = [await startCell("a", "01234567"), await startCell("b", "89abcdef")] as const;
    const broker = await startRabbitmqNode(program, { folder: join(folder, "rabbitmq"), pidFolder, disposable: true });
    stopWith(() => broker.stop());
    return { cells, databaseUrl: cells[0].databaseUrl, amqpUrls: () => [new URL(broker.url)] };
  });
}
