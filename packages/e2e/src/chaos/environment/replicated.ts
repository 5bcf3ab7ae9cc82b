import { join } from "node:path";
import type { Postgres } from "@herald/dev/stack/postgres";
import { isInSync, promoteStandby, startPostgresPair } from "@herald/dev/stack/postgres-pair";
import { findOrInstallRabbitmq } from "@herald/dev/stack/rabbitmq";
import { startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { type Servers, type ServersOptions, startInTurn } from "./servers.ts";

/** A PostgreSQL with a standby that commits wait for, and a RabbitMQ. */
export interface ReplicatedServers extends Servers {
  /** `kill -9` of the primary, as if its machine were gone. It does not come back. */
  killPrimary(): Promise<void>;
  /** Makes the standby the database, at its own address. Resolves when it takes writes. */
  promote(): Promise<void>;
}

export async function startReplicatedServers({
  folder,
  pidFolder,
  disposable,
}: ServersOptions): Promise<ReplicatedServers> {
  const program = await findOrInstallRabbitmq();
  return await startInTurn(async (stopWith) => {
    const { primary, standby } = await startPostgresPair({
      folder: join(folder, "postgres"),
      pidFolder,
      disposable,
    });
    stopWith(() => primary.remove());
    // Before its primary: without that one's end it would look for another one.
    stopWith(() => standby.remove());
    const broker = await startRabbitmqNode(program, { folder: join(folder, "rabbitmq"), pidFolder, disposable: true });
    stopWith(() => broker.stop());
    let current: Postgres = primary;
    return {
      databaseUrl: () => new URL(current.url),
      amqpUrls: () => [new URL(broker.url)],
      async killPrimary() {
        if (!(await isInSync(primary)))
          throw new Error("The standby has fallen behind: its promotion would lose commits.");
        process.kill(primary.process.pid, "SIGKILL");
        await primary.process.exited;
      },
      async promote() {
        await promoteStandby(standby);
        current = standby;
      },
    };
  });
}
