import { createInjector } from "../environment/inject.ts";
import { SHORT_TIMES, startServers } from "../environment/servers.ts";
import type { Load } from "../load.ts";
import type { FaultKind } from "../plan/faults.ts";
import { planOutages, planPauses, planTenants } from "../plan/tenants.ts";
import { inEnvironment, type Scenario } from "./scenario.ts";

/** All at once, and again until the time is over: three floods, a restart of each process in turn, and RabbitMQ killed twice. */
export const stormScenario: Scenario = (options) =>
  inEnvironment(options, { startServers, times: SHORT_TIMES }, async (environment, run) => {
    const { seed, seconds, pause } = options;

    async function disturb(load: Load) {
      const { inject, injected } = createInjector({ ...environment, pause }, load);
      const strike = (kind: FaultKind, target: string, durationMs = 0) => inject({ atMs: 0, kind, target, durationMs });
      async function restarts(): Promise<void> {
        for (const { label, ready } of environment.services.values()) {
          await strike("terminate", label);
          await ready().catch(() => {});
        }
      }
      async function floods(): Promise<void> {
        for (let flood = 0; flood < 3; flood++) await strike("flood", "emitter");
      }
      async function kills(): Promise<void> {
        for (const downMs of [500, 0]) {
          await pause(2_000);
          await strike("rabbitmq-killed", "rabbitmq", downMs);
        }
      }
      const end = Date.now() + seconds * 1_000;
      while (Date.now() < end) await Promise.all([restarts(), floods(), kills()]);
      return injected;
    }

    const [outages, pauses] = [planOutages(seed, seconds), planPauses(seed, seconds)];
    const result = await run({ tenants: planTenants(seed), outages, pauses, disturb });
    return { ...result, extra: {}, complaints: [] };
  });
