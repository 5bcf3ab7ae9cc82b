import { join } from "node:path";
import type { Postgres } from "@herald/dev/stack/postgres";
import { isInSync, promoteStandby, startPostgresPair } from "@herald/dev/stack/postgres-pair";
import { findOrInstallRabbitmq } from "@herald/dev/stack/rabbitmq";
import { startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { type ServersOptions, startInTurn, USUAL_TIMES } from "../environment/servers.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { longestPauseAfter, noticed } from "../verdict/reconcile.ts";
import { inEnvironment, type Scenario } from "./scenario.ts";

/** Starts a PostgreSQL with a standby that commits wait for, and a RabbitMQ. */
async function startReplicatedServers({ folder, disposable }: ServersOptions) {
  const program = await findOrInstallRabbitmq();
  return await startInTurn(async (stopWith) => {
    const { primary, standby } = await startPostgresPair({ folder: join(folder, "postgres"), disposable });
    stopWith(() => primary.remove());
    // Before its primary: without that one's end it would look for another one.
    stopWith(() => standby.remove());
    const broker = await startRabbitmqNode(program, { folder: join(folder, "rabbitmq"), disposable: true });
    stopWith(() => broker.stop());
    let current: Postgres = primary;
    return {
      databaseUrl: () => new URL(current.url),
      amqpUrls: () => [new URL(broker.url)],
      /** `kill -9` of the primary, as if its machine were gone. It does not come back. */
      async killPrimary() {
        if (!(await isInSync(primary)))
          throw new Error("The standby has fallen behind: its promotion would lose commits.");
        process.kill(primary.process.pid, "SIGKILL");
        await primary.process.exited;
      },
      /** Makes the standby the database, at its own address. Resolves when it takes writes. */
      async promote() {
        await promoteStandby(standby);
        current = standby;
      },
    };
  });
}

/** From the primary's end to the standby's promotion: an operator has to be sure first. */
const DETECTED_AFTER_MS = 2_000;

/**
 * PostgreSQL fails over under load: the primary is killed and stays away, and its synchronous standby is promoted at the
 * same address. Nothing is lost: the standby has all that a service knows to be committed. What is in flight is written nowhere,
 * so that an attempt whose result was not committed is made twice.
 */
export const postgresFailoverScenario: Scenario = (options) =>
  inEnvironment(options, { startServers: startReplicatedServers, times: USUAL_TIMES }, async (environment, run) => {
    const { seconds, pause, progress } = options;
    const { servers, links } = environment;
    const services = [...environment.services.values()];
    let promotionMs = 0;

    async function disturb(): Promise<InjectedFault[]> {
      await pause((seconds * 1_000) / 2);
      progress("Killing PostgreSQL's primary");
      const failover = { kind: "postgres-failed-over", target: "postgres", from: Date.now(), until: 0 };
      await servers.killPrimary();
      // Its processes outlive it for a moment. Of a machine that is gone nothing more is heard.
      for (const [label, link] of links) if (label.endsWith(">postgres")) link.cut();
      await pause(DETECTED_AFTER_MS);
      progress("Promoting its standby");
      const asked = Date.now();
      await servers.promote();
      promotionMs = Date.now() - asked;
      await Promise.all(services.map((service) => service.ready()));
      failover.until = Date.now();
      return [failover];
    }

    const result = await run({ disturb });
    const { requests, faults } = result.history;
    const arrivals = requests.map(({ at }) => at);
    const [{ from, until }] = faults as [InjectedFault];
    const complaints = noticed(result.verdict, { mayRepeat: true });
    if (!arrivals.some((at) => at > until)) complaints.push("nothing was delivered after the fail-over");
    return {
      ...result,
      extra: {
        "until the promotion was asked for, ms": DETECTED_AFTER_MS,
        "promotion, ms": promotionMs,
        "longest pause in deliveries, ms": longestPauseAfter(arrivals, from, until),
      },
      complaints,
    };
  });
