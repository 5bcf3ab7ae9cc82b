import { startServers, USUAL_TIMES } from "../environment/servers.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { noticed } from "../verdict/reconcile.ts";
import { inEnvironment, type Scenario } from "./scenario.ts";

/**
 * A deployment under load: each service gets SIGTERM, ends by itself, and is there again before the next one goes. No receiver
 * may notice: every delivery comes once, and no attempt fails.
 */
export const rollingRestartScenario: Scenario = (options) =>
  inEnvironment(options, { startServers, times: USUAL_TIMES }, async (environment, run) => {
    const { pause, progress } = options;
    let longestStopMs = 0;

    async function disturb(): Promise<InjectedFault[]> {
      const restarts: InjectedFault[] = [];
      for (const service of environment.services.values()) {
        await pause(500);
        progress(`Restarting ${service.label}`);
        const from = Date.now();
        const stopMs = await service.restart(0);
        await service.ready();
        longestStopMs = Math.max(longestStopMs, stopMs);
        restarts.push({ kind: "terminate", target: service.label, from, until: Date.now() });
      }
      return restarts;
    }

    const result = await run({ disturb });
    const complaints = noticed(result.verdict, { mayRepeat: false });
    return { ...result, extra: { "longest stop, ms": longestStopMs }, complaints };
  });
