import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { freePort } from "@herald/dev/stack/ports";
import { startPostgres } from "@herald/dev/stack/postgres";
import { findOrInstallRabbitmq } from "@herald/dev/stack/rabbitmq";
import { type RabbitmqNode, startPortMapper, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { type Servers, type ServersOptions, startInTurn } from "./servers.ts";

/** A RabbitMQ cluster of three nodes on this machine, and a PostgreSQL. */
export interface ClusterServers extends Servers {
  /** The node that leads this queue, by its name. */
  leaderOf(queue: string): Promise<string>;
  /** `kill -9`. */
  killNode(name: string): Promise<void>;
  /** Starts a killed node on what it had written; resolves when it answers. */
  startNode(name: string): Promise<void>;
}

const SIZE = 3;

export async function startClusterServers({ folder, pidFolder, disposable }: ServersOptions): Promise<ClusterServers> {
  const program = await findOrInstallRabbitmq();
  const mapperPort = await freePort();
  const cookie = randomBytes(12).toString("hex");
  const folders = new Map<string, string>();
  const running = new Map<string, RabbitmqNode>();

  async function start(nodeFolder: string): Promise<RabbitmqNode> {
    const node = await startRabbitmqNode(program, {
      folder: nodeFolder,
      // Its files are named after what runs, and three of the same run here.
      pidFolder: join(nodeFolder, "processes"),
      disposable: true,
      cluster: { mapperPort, cookie, peers: [...folders.keys()] },
    });
    folders.set(node.name, nodeFolder);
    running.set(node.name, node);
    return node;
  }

  return await startInTurn(async (stopWith) => {
    const postgres = await startPostgres({ folder: join(folder, "postgres"), pidFolder, disposable });
    stopWith(() => postgres.remove());
    const mapper = await startPortMapper(program, pidFolder, mapperPort);
    if (mapper) stopWith(() => mapper.stop());
    stopWith(() => Promise.all([...running.values()].map((node) => node.stop())));
    // One after the other: each new one joins those that are there.
    for (let number = 1; number <= SIZE; number++) await start(join(folder, `rabbitmq-${number}`));
    return {
      databaseUrl: () => new URL(postgres.url),
      amqpUrls: () => [...running.values()].map(({ url }) => new URL(url)),
      async leaderOf(queue) {
        const [node] = running.values();
        const listed = await node?.control(["list_queues", "--formatter", "json", "name", "leader"]);
        const queues = JSON.parse(listed ?? "[]") as { name: string; leader: string }[];
        const found = queues.find(({ name }) => name === queue);
        if (!found) throw new Error(`The cluster has no queue ${queue}.`);
        return found.leader;
      },
      async killNode(name) {
        const node = running.get(name);
        running.delete(name);
        await node?.stop();
      },
      async startNode(name) {
        await start(folders.get(name) ?? "");
      },
    };
  });
}
