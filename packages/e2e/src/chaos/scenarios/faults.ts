import { createHash } from "node:crypto";
import { createInjector } from "../environment/inject.ts";
import { SHORT_TIMES, startServers } from "../environment/servers.ts";
import type { Load } from "../load.ts";
import { type FaultKind, planFaults } from "../plan/faults.ts";
import { planOutages, planPauses, planTenants } from "../plan/tenants.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { noticed } from "../verdict/reconcile.ts";
import { inEnvironment, type Scenario } from "./scenario.ts";

/** Faults of every kind, at random, over hostile receivers and busy admins; the seed repeats all of it. */
export const faultsScenario: Scenario = (options) =>
  inEnvironment(options, { startServers, times: SHORT_TIMES }, async (environment, run) => {
    const { seed, seconds, pause } = options;
    const tenants = planTenants(seed);
    const outages = planOutages(seed, seconds);
    const pauses = planPauses(seed, seconds);
    const faults = planFaults(seed, seconds);

    async function disturb(load: Load): Promise<InjectedFault[]> {
      const { inject, injected } = createInjector({ ...environment, pause }, load);
      const begunAt = Date.now();
      const injecting: Promise<void>[] = [];
      for (const fault of faults) {
        await pause(begunAt + fault.atMs - Date.now());
        injecting.push(inject(fault));
      }
      await Promise.all(injecting);
      return injected;
    }

    const plan = createHash("sha256").update(JSON.stringify({ tenants, outages, pauses, faults })).digest("hex");
    const result = await run({ tenants, outages, pauses, disturb });
    return { ...result, extra: { plan: plan.slice(0, 12) }, complaints: [] };
  });

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

/** RabbitMQ closes a connection that is not read for 30 s. */
const SILENT_MS = 45_000;
/** For so many events of nearly the largest size no two publishers have room. */
const FLOODS_OF_LARGE_BODIES = 12;

/** PostgreSQL is silent for the publishers, for longer than their connections to RabbitMQ may rest, while more bytes come than they may hold. */
export const silenceScenario: Scenario = (options) =>
  inEnvironment(options, { startServers, times: SHORT_TIMES }, async (environment, run) => {
    const { pause } = options;

    async function disturb(load: Load) {
      const { inject, injected } = createInjector({ ...environment, pause }, load);
      const stalls = ["publisher-1", "publisher-2"].map((publisher) =>
        inject({ atMs: 0, kind: "stall", target: `${publisher}>postgres`, durationMs: SILENT_MS }),
      );
      for (let flood = 0; flood < FLOODS_OF_LARGE_BODIES; flood++) {
        await inject({ atMs: 0, kind: "large-bodies", target: "emitter", durationMs: 0 });
      }
      await Promise.all(stalls);
      return injected;
    }

    const result = await run({ disturb });
    return { ...result, extra: {}, complaints: noticed(result.verdict, { mayRepeat: true }) };
  });
