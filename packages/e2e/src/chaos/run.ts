import { setTimeout as sleep } from "node:timers/promises";
import { names } from "@herald/common/broker/topology";
import { type Database, openDatabase } from "@herald/common/database/open-database";
import { type Child, startChild } from "../child.ts";
import { apiClient } from "../herald/api-client.ts";
import { type AdminEndpoint, startAdmin } from "./environment/admin.ts";
import type { EmitterRequest } from "./environment/emitter-process.ts";
import type { ChaosEnvironment } from "./environment/open-environment.ts";
import type { ReceiverRequest } from "./environment/receiver-process.ts";
import { type ChaosTimes, DISABLE_AFTER, MAX_ATTEMPTS } from "./environment/servers.ts";
import { collectNotices, countMessages, progressOf, readNotices, storedDeliveries } from "./environment/state.ts";
import { type Asked, type Load, loadFaults } from "./load.ts";
import type { Period, Tenant } from "./plan/tenants.ts";
import type { EmittedRecord, History, InjectedFault, ReceivedRequest } from "./verdict/history.ts";
import { reconcile, type Verdict } from "./verdict/reconcile.ts";

export interface RunOptions {
  seed: number;
  /** How long events are emitted, at the least: they go on until the disturbance is over. */
  seconds: number;
  /** Events a second. */
  rate: number;
  tenants: readonly Tenant[];
  /** When the broken receivers take nothing. */
  outages: readonly Period[];
  /** When admins pause the endpoints that get paused. */
  pauses: readonly Period[];
  times: ChaosTimes;
  /** Disturbs Herald while it works. Returns when everything that it touched works again, or could. */
  disturb: (load: Load) => Promise<InjectedFault[]>;
  /** Whether admins also deliver payloads by hand; true unless said otherwise. */
  manual?: boolean;
  pause: (durationMs: number) => Promise<void>;
  progress: (text: string) => void;
}

export interface RunResult {
  verdict: Verdict;
  history: History;
  /** From the last fault's end until every delivery had come to its own. */
  quietAfterMs: number;
}

/** Where the run collects what Herald tells the product. */
export const NOTICES_QUEUE = "herald-chaos.notices";
/** For the emitter to get rid of what it holds. */
const CONFIRM_WITHIN_MS = 60_000;
/** From one delivery's end to the next one's: a resumed endpoint is looked at again after a minute, and a slow machine needs longer. */
const NEXT_END_WITHIN_MS = 150_000;

/** One chaos run in an environment of its own: load and disturbance, then quiet, then the verdict. */
export async function runUnderLoad(environment: ChaosEnvironment, options: RunOptions): Promise<RunResult> {
  const { seed, seconds, rate, tenants, outages, pauses, times, disturb, manual = true, pause, progress } = options;
  const { servers, namespace } = environment;
  const receivers = await startChild(new URL("./environment/receiver-process.js", import.meta.url));
  const emitter = await startChild(new URL("./environment/emitter-process.js", import.meta.url));
  const ask: Asked = {
    receivers: <T>(request: ReceiverRequest) => receivers.ask<T>(request),
    emitter: <T>(request: EmitterRequest) => emitter.ask<T>(request),
  };
  let database: Database | undefined;
  try {
    const ports = await ask.receivers<number[]>({
      type: "listen",
      count: tenants.flatMap((tenant) => tenant.endpoints).length,
      ...environment.receiverCertificate,
      seed,
      outages: [...outages],
      attemptTimeoutMs: times.attemptTimeoutMs,
    });
    const endpoints = await createEndpoints(environment, tenants, ports, receivers);
    await collectNotices(servers.amqpUrls(), names(namespace).noticesExchange, NOTICES_QUEUE);
    const url = environment.amqpUrlOver("emitter>rabbitmq");
    await ask.emitter({ type: "connect", url, namespace, seed, tenants: [...tenants] });

    progress(`${rate} events/s for ${seconds} s`);
    await ask.receivers({ type: "begin" });
    const admin = await startAdmin({ seed, endpoints, pauses, manual, apiUrl: environment.apiUrl, pause });
    await ask.emitter({ type: "begin", perSecond: rate });
    const finishEmitting = () => ask.emitter<EmittedRecord[]>({ type: "finish", withinMs: CONFIRM_WITHIN_MS });
    const load: Load = {
      async settle() {
        const emitted = await finishEmitting();
        await untilQuiet(expectedDeliveries(emitted, endpoints) + admin.manual.length);
      },
      emitAgain: () => ask.emitter({ type: "again", withinMs: CONFIRM_WITHIN_MS }),
      ...loadFaults(ask, endpoints),
    };
    const [faults] = await Promise.all([disturb(load), pause(seconds * 1_000)]);

    progress("Waiting for quiet");
    const disturbedUntil = Date.now();
    admin.finish();
    const events = await finishEmitting();
    await untilQuiet(expectedDeliveries(events, endpoints) + admin.manual.length);
    const quietAfterMs = Date.now() - disturbedUntil;
    await admin.stop();

    progress("Reconciling");
    const { eventQueues, rejectedQueue } = names(namespace);
    database = openHere();
    const notices = await readNotices(servers.amqpUrls(), NOTICES_QUEUE);
    const history: History = {
      events,
      manual: admin.manual,
      endpoints,
      requests: await ask.receivers<ReceivedRequest[]>({ type: "requests" }),
      deliveries: await storedDeliveries(database.prisma),
      disablings: admin.disablings,
      // The others say nothing that is judged.
      notices: notices
        .filter((notice) => notice.type === "endpoint.disabled")
        .map(({ id, type, endpoint, attempts }) => ({
          id,
          type,
          endpointId: endpoint.id,
          attempts: attempts.map(({ deliveryId, number }) => `${deliveryId}/${number}`),
        })),
      faults,
      standstills: environment.standstills,
      ownEnds: environment.ownEnds,
      stoodStillMs: await ask.receivers<number>({ type: "stoodStillMs" }),
      leftInQueues: await countMessages(servers.amqpUrls(), [...eventQueues, rejectedQueue]),
      settings: { attemptTimeoutMs: times.attemptTimeoutMs, maxAttempts: MAX_ATTEMPTS, disableAfter: DISABLE_AFTER },
    };
    return { verdict: reconcile(history), history, quietAfterMs };
  } finally {
    await Promise.all([receivers.stop(), emitter.stop()]);
    await database?.close();
  }

  /** Not before the faults are over: a restart of PostgreSQL moves it. */
  function openHere(): Database {
    return openDatabase(servers.databaseUrl().href, { applicationName: "herald-chaos" });
  }

  /** Nothing is under way and nothing is missing; gives up when nothing ends any more, and the verdict says what is left. */
  async function untilQuiet(expected: number): Promise<void> {
    const database = openHere();
    try {
      let deadline = 0;
      let finishedBefore = -1;
      do {
        const { finished, unfinished, notices } = await progressOf(database.prisma);
        if (unfinished === 0 && finished >= expected && notices === 0) return;
        if (finished > finishedBefore) deadline = Date.now() + NEXT_END_WITHIN_MS;
        finishedBefore = finished;
        await sleep(500);
      } while (Date.now() < deadline);
      progress("It does not come");
    } finally {
      await database.close();
    }
  }
}

interface RunEndpoint extends AdminEndpoint {
  types: readonly string[];
}

async function createEndpoints(
  environment: ChaosEnvironment,
  tenants: readonly Tenant[],
  ports: readonly number[],
  receivers: Child,
): Promise<RunEndpoint[]> {
  const created: RunEndpoint[] = [];
  for (const { organizationId, endpoints } of tenants) {
    const api = await apiClient(environment.apiUrl, organizationId);
    for (const { character, types } of endpoints) {
      const number = created.length;
      const url = `https://${number}.receiver.test:${ports[number]}/${number}`;
      const { endpoint, signingSecret } = await api.create({ name: character, url, events: [...types] });
      if (!signingSecret) throw new Error("The API created an endpoint and did not say its secret.");
      await receivers.ask({ type: "endpoint", number, id: endpoint.id, character, secret: signingSecret });
      created.push({ number, id: endpoint.id, organizationId, character, types });
    }
  }
  return created;
}

function expectedDeliveries(events: readonly EmittedRecord[], endpoints: readonly RunEndpoint[]): number {
  let count = 0;
  for (const { organizationId, type, confirmed } of events) {
    if (!confirmed) continue;
    for (const endpoint of endpoints) {
      if (endpoint.organizationId === organizationId && endpoint.types.includes(type)) count++;
    }
  }
  return count;
}
