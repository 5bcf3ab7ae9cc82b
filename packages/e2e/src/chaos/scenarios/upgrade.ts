import { migrate } from "@herald/common/database/migrate";
import { startServers } from "../environment/servers.ts";
import { USUAL_TIMES } from "../environment/settings.ts";
import { planSteadyTenants } from "../plan/tenants.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { inEnvironment } from "./in-environment.ts";
import type { Scenario } from "./scenario.ts";

/** Both versions work beside each other for so long between two replacements. */
const MIXED_MS = 500;

/**
 * An upgrade under load, and back: the version before runs, the schema is migrated under it, each of its processes is replaced by one of this
 * version, and then each of these by one of the version before, on the new schema. No receiver may notice: every delivery comes
 * once, and no attempt fails.
 */
export const upgradeScenario: Scenario = async (options) => {
  const { name, folder } = await options.versionBefore();
  return await inEnvironment(options, { startServers, times: USUAL_TIMES, code: folder }, async (environment, run) => {
    const { seed, pause, progress } = options;
    let migrations = 0;
    let longestStopMs = 0;

    async function disturb(): Promise<InjectedFault[]> {
      await pause(MIXED_MS);
      progress("Migrating");
      const migrated: InjectedFault = { kind: "migrated", target: "postgres", from: Date.now(), until: 0 };
      const { applied } = await migrate(environment.servers.databaseUrl().href, {
        statementTimeoutMs: USUAL_TIMES.databaseTimeoutMs,
      });
      migrations = applied.length;
      migrated.until = Date.now();
      return [migrated, ...(await replaceEach("upgraded", undefined)), ...(await replaceEach("rolled-back", folder))];
    }

    async function replaceEach(kind: string, code: string | undefined): Promise<InjectedFault[]> {
      const replaced: InjectedFault[] = [];
      for (const service of environment.services.values()) {
        await pause(MIXED_MS);
        progress(`Replacing ${service.label}, ${kind}`);
        const from = Date.now();
        service.runFrom(code);
        longestStopMs = Math.max(longestStopMs, await service.restart(0));
        await service.ready();
        replaced.push({ kind, target: service.label, from, until: Date.now() });
      }
      return replaced;
    }

    const result = await run({ tenants: planSteadyTenants(seed), outages: [], pauses: [], disturb });
    const { requests, deliveries, failedAttempts } = result.verdict.figures;
    const complaints: string[] = [];
    if (failedAttempts > 0) complaints.push(`${failedAttempts} attempts failed, none for a reason of the receiver's`);
    if (requests !== deliveries) complaints.push(`${deliveries} deliveries came as ${requests} requests`);
    const extra = { "the version before": name, "migrations applied": migrations, "longest stop, ms": longestStopMs };
    return { ...result, extra, complaints };
  });
};
