import { names } from "@herald/common/broker/topology";
import { startClusterServers } from "../environment/cluster.ts";
import { USUAL_TIMES } from "../environment/servers.ts";
import { planSteadyTenants } from "../plan/tenants.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { longestPauseAfter, noticed } from "../verdict/unnoticed.ts";
import type { Scenario } from "./scenario.ts";
import { inEnvironment } from "./scenario.ts";

/** Between a node's end or return and what comes next, for the cluster to settle and the load to go on. */
const SETTLE_MS = 4_000;
/** A cluster elects a new leader in a second or two, and connections come back in five at the most. */
const RESUMES_WITHIN_MS = 15_000;

/**
 * A RabbitMQ cluster of three nodes under load: the leader of an inbox queue is killed, comes back, and then its successor is
 * killed. Nothing is lost, nothing comes twice, and deliveries go on within seconds.
 */
export const clusterScenario: Scenario = (options) =>
  inEnvironment(options, { startServers: startClusterServers, times: USUAL_TIMES }, async (environment, run) => {
    const { seed, pause, progress } = options;
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

    const result = await run({ tenants: planSteadyTenants(seed), outages: [], pauses: [], disturb });
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
