import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { createEmitter, type Emitter } from "@herald/emitter";
import { afterAll, afterEach, beforeAll, expect } from "@jest/globals";
import { apiClient } from "../../../src/herald/api-client.ts";
import type { HeraldTuning } from "../../../src/herald/in-process.ts";
import { workItemCompleted } from "../../journeys/test-environment.ts";
import { openShell, type Shell } from "./compose.ts";
import { stepsOf } from "./project-files.ts";
import { type Prometheus, startPrometheus } from "./prometheus.ts";
import { type RunningSystem, startSystem } from "./running-system.ts";

/**
 * SPEC's and Herald's times, shortened as the rules are, so that nothing is waited for longer than for Prometheus. An attempt
 * may take as long as it can be allowed: a receiver that is told to wait decides when it ends, and no clock.
 */
const SETTINGS = {
  RETRY_DELAYS_SECONDS: "1,1,1,1",
  ATTEMPT_TIMEOUT_SECONDS: "60",
  DATABASE_TIMEOUT_SECONDS: "3",
};

const TUNING: HeraldTuning = {
  pausesMs: [100],
  sweepIntervalMs: 500,
  catchUpIntervalMs: 500,
  noticeIntervalMs: 500,
  retentionIntervalMs: 2_000,
  // Events that a publisher holds do not count as waiting.
  bounds: { inboxBytes: 16 * 1024 ** 2, inFlight: 20 },
  batchSize: 50,
};

/** For Prometheus to see what it waits for, on a machine that is ten times slower. */
const WAIT_MS = 300_000;

/** Herald as it runs in production, watched by a real Prometheus with the rules that are deployed. One for all incidents. */
export function useIncidents() {
  const fired = new Set<string>();
  let folder = "";
  let system: RunningSystem;
  let prometheus: Prometheus;
  let shell: Shell;
  let emitter: Emitter;
  let receiver: HttpsReceiver;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "herald-incidents-"));
    prometheus = await startPrometheus(join(folder, "prometheus"));
    system = await startSystem(SETTINGS, TUNING, prometheus.scrape);
    shell = await openShell(folder, system.compose);
    // Old enough to be erased.
    await system.query(
      `select make_partitions(current_date - 91, current_date - 88);
       insert into business_event (organization_id, key, id, type, entity_id, occurred_at, received_at, body)
       select 'of-old', event_key('of-old', id, time), id, 'WorkItemCompleted', id, time, time, '{}'
       from (select gen_random_uuid() as id, now() - interval '90 days' as time) as old`,
    );
    // Prometheus sees no increase in the first value of a counter.
    await eventually(async () => expect(await prometheus.count("herald_build_info")).toBe(3), { timeoutMs: WAIT_MS });
    emitter = createEmitter({ url: system.amqpUrl, namespace: system.namespace, timeoutMs: 60_000 });
    receiver = await httpsReceiver();
  }, STACK_TIMEOUT_MS);

  // An incident that failed in the middle must not be the next one's: whatever it broke is mended.
  afterEach(async () => {
    receiver.answerWith({});
    await system.compose.up(["postgres", "rabbitmq", "management-api", "publisher", "dispatcher"], {});
    await system.ready();
  }, WAIT_MS);

  afterAll(async () => {
    await emitter?.close();
    await shell?.close();
    await system?.close();
    await prometheus?.stop();
    await receiver?.close();
    rmSync(folder, { recursive: true, force: true });
  }, 120_000);

  return {
    get system() {
      return system;
    },
    get prometheus() {
      return prometheus;
    },
    get emitter() {
      return emitter;
    },
    get receiver() {
      return receiver;
    },
    /** The alerts that have fired so far. */
    fired: fired as ReadonlySet<string>,
    async emit(organizationId: string, count: number) {
      await Promise.all(Array.from({ length: count }, () => emitter.emit(workItemCompleted(organizationId))));
    },
    /** An organization with endpoints whose receiver answers as its path says. */
    async organization(path: string, count = 1) {
      const api = await apiClient(system.apiUrl);
      const ids: string[] = [];
      for (let index = 0; index < count; index++) {
        ids.push((await api.create({ url: `${receiver.url}${path}` })).endpoint.id);
      }
      return { ...api, ids };
    },
    /** Resolves when the alert fires, with where its page is. */
    fires: (alert: string, labels: Record<string, string> = {}) =>
      eventually(
        async () => {
          const [firing] = (await prometheus.firing(alert)).filter((each) =>
            Object.entries(labels).every(([name, value]) => each.labels[name] === value),
          );
          if (firing === undefined) throw new Error(`${alert} does not fire.`);
          fired.add(alert);
          return firing.annotations.runbook_url;
        },
        { timeoutMs: WAIT_MS, intervalMs: 250 },
      ),
    /** Resolves when none of the alerts fires any more. */
    async ends(...alerts: string[]) {
      for (const alert of alerts) {
        await eventually(async () => expect(await prometheus.firing(alert)).toEqual([]), {
          timeoutMs: WAIT_MS,
          intervalMs: 250,
        });
      }
    },
    /** Acts as an operator on call: opens the alert's page and runs its commands. */
    async follow(link: string, cause: string) {
      let printed = "";
      for (const commands of stepsOf(link, cause)) printed += await shell.run(commands);
      return printed;
    },
    /** Repeats a task until `stop`. */
    keep(task: () => Promise<unknown>, everyMs: number) {
      let stopped = false;
      const done = (async () => {
        while (!stopped) {
          await task().catch(() => {});
          await sleep(everyMs);
        }
      })();
      return {
        async stop() {
          stopped = true;
          await done;
        },
      };
    },
  };
}
