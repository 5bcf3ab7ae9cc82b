import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { names } from "@herald/common/broker/topology";
import { freePort } from "@herald/dev/stack/ports";
import { startPostgres } from "@herald/dev/stack/postgres";
import { findOrInstallRabbitmq } from "@herald/dev/stack/rabbitmq";
import { type RabbitmqNode, startPortMapper, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { type ServersOptions, startInTurn, USUAL_TIMES } from "../environment/servers.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { longestPauseAfter, noticed } from "../verdict/reconcile.ts";
import { inEnvironment, type Scenario } from "./scenario.ts";

/** Between a node's end or return and what comes next, for the cluster to settle and the load to go on. */
const SETTLE_MS = 4_000;
/** A cluster elects a new leader in a second or two, and connections come back in at most five. */
const RESUMES_WITHIN_MS = 15_000;

/**
 * A RabbitMQ cluster of three nodes under load: the leader of an inbox queue is killed, comes back, and then its successor is
 * killed. Nothing is lost, nothing comes twice, and deliveries go on within seconds.
 */
export const clusterScenario: Scenario = (options) =>
  inEnvironment(options, { startServers: startClusterServers, times: USUAL_TIMES }, async (environment, run) => {
    const { pause, progress } = options;
    const { servers, namespace } = environment;
    // Each node leads some of them; the others follow where one is gone.
    const inboxQueue = names(namespace).inboxQueues[0] ?? "";

    async function disturb(): Promise<InjectedFault[]> {
      const kills: InjectedFault[] = [];
      for (const which of ["the leader", "its successor"]) {
        await pause(SETTLE_MS);
        const leader = await servers.leaderOf(inboxQueue);
        progress(`Killing ${which}, ${leader}`);
        const kill: InjectedFault = { kind: "leader-killed", target: leader, from: Date.now(), until: 0 };
        await servers.killNode(leader);
        await pause(SETTLE_MS);
        progress(`Starting ${leader} again`);
        await servers.startNode(leader);
        kill.until = Date.now();
        kills.push(kill);
      }
      return kills;
    }

    const result = await run({ disturb });
    const { requests, faults } = result.history;
    const arrivals = requests.map(({ at }) => at);
    const pauses = faults.map(({ from, until }) => longestPauseAfter(arrivals, from, until));
    const complaints = noticed(result.verdict, { mayRepeat: false });
    for (const [index, pauseMs] of pauses.entries()) {
      if (pauseMs > RESUMES_WITHIN_MS)
        complaints.push(`nothing was delivered for ${pauseMs} ms after kill ${index + 1}`);
    }
    return { ...result, extra: { "longest pauses after the kills, ms": pauses.join(", ") }, complaints };
  });

const SIZE = 3;

/** Starts a RabbitMQ cluster of three nodes on this machine, and a PostgreSQL. */
async function startClusterServers({ folder, disposable }: ServersOptions) {
  const program = await findOrInstallRabbitmq();
  const mapperPort = await freePort();
  const cookie = randomBytes(12).toString("hex");
  const folders = new Map<string, string>();
  const running = new Map<string, RabbitmqNode>();

  async function start(nodeFolder: string): Promise<RabbitmqNode> {
    const node = await startRabbitmqNode(program, {
      folder: nodeFolder,
      disposable: true,
      cluster: { mapperPort, cookie, peers: [...folders.keys()] },
    });
    folders.set(node.name, nodeFolder);
    running.set(node.name, node);
    return node;
  }

  return await startInTurn(async (stopWith) => {
    const postgres = await startPostgres({ folder: join(folder, "postgres"), disposable });
    stopWith(() => postgres.remove());
    const mapper = await startPortMapper(program, mapperPort);
    if (mapper) stopWith(() => mapper.stop());
    stopWith(() => Promise.all([...running.values()].map((node) => node.stop())));
    // One after the other: each new one joins those that are there.
    for (let number = 1; number <= SIZE; number++) await start(join(folder, `rabbitmq-${number}`));
    return {
      databaseUrl: () => new URL(postgres.url),
      amqpUrls: () => [...running.values()].map(({ url }) => new URL(url)),
      async leaderOf(queue: string) {
        const [node] = running.values();
        const listed = await node?.control(["list_queues", "--formatter", "json", "name", "leader"]);
        const queues = JSON.parse(listed ?? "[]") as { name: string; leader: string }[];
        const found = queues.find(({ name }) => name === queue);
        if (!found) throw new Error(`The cluster has no queue ${queue}.`);
        return found.leader;
      },
      async killNode(name: string) {
        const node = running.get(name);
        running.delete(name);
        await node?.stop();
      },
      /** Starts a killed node on what it had written; resolves when it answers. */
      async startNode(name: string) {
        await start(folders.get(name) ?? "");
      },
    };
  });
}
