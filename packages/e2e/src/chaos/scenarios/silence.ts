import { createInjector } from "../environment/inject.ts";
import { SHORT_TIMES, startServers } from "../environment/servers.ts";
import type { Load } from "../load.ts";
import { noticed } from "../verdict/reconcile.ts";
import { inEnvironment, type Scenario } from "./scenario.ts";

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
