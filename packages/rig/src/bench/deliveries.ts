import { setTimeout as sleep } from "node:timers/promises";
import { apiClient } from "../herald/api-client.ts";
import type { ServiceProcess } from "../herald/processes.ts";
import { type Child, startChild } from "./child.ts";
import type { EmitterRequest } from "./emitter-process.ts";
import type { GotLoopRequest } from "./got-loop-process.ts";
import type { BenchPlace } from "./place.ts";
import type { Arrivals, ReceiverRequest } from "./receiver-process.ts";

export interface DeliveriesFigures {
  endpoints: number;
  seconds: number;
  /** Sustained, by one dispatcher, while everything else works on the same cores. */
  deliveriesPerSecond: number;
  /** Of the dispatcher's process, for one delivery. */
  dispatcherCpuMicroseconds: number;
  /** Resident memory of the dispatcher at the end. */
  dispatcherMebibytes: number;
  /** The bare loop, in the same run. */
  bareGotPerSecond: number;
  bareGotCpuMicroseconds: number;
  ratio: number;
  /** Events that never came, and requests that came more than once: speed is not bought with either. */
  lost: number;
  repeated: number;
}

const ENDPOINTS = 20;
/** Events that are ahead of the receiver: enough to keep the dispatcher busy, too few to be a backlog of its own. */
const LEAD = 2_000;
const CHUNK = 250;
const WARM_UP_EVENTS = 4_000;

/** Measures what one dispatcher delivers when there is always more to deliver. */
export async function measureDeliveries(
  place: BenchPlace,
  { seconds, progress }: { seconds: number; progress: (text: string) => void },
): Promise<DeliveriesFigures> {
  const receiver = await startChild(new URL("./receiver-process.js", import.meta.url));
  const emitter = await startChild(new URL("./emitter-process.js", import.meta.url));
  const gotLoop = await startChild(new URL("./got-loop-process.js", import.meta.url));
  const ask = {
    receiver: <T>(request: ReceiverRequest) => receiver.ask<T>(request),
    emitter: (request: EmitterRequest) => emitter.ask<void>(request),
    gotLoop: (request: GotLoopRequest) => gotLoop.ask<{ perSecond: number; cpuMicroseconds: number }>(request),
  };
  try {
    const port = await ask.receiver<number>({ type: "listen", ...place.receiverCertificate });
    const url = `https://127.0.0.1:${port}`;
    const [api, dispatcher] = [
      await place.start("management-api"),
      await place.start("dispatcher"),
      await place.start("publisher"),
    ];
    const organizationIds = await createEndpoints(`http://127.0.0.1:${api.port}`, url);
    await ask.emitter({ type: "connect", url: place.amqpUrl, namespace: place.namespace, organizationIds });

    progress("Warming up");
    await ask.emitter({ type: "emit", count: WARM_UP_EVENTS });
    await untilReceived(WARM_UP_EVENTS);
    await ask.receiver({ type: "reset" });

    progress(`Delivering for ${seconds} s`);
    const feeding = feed(seconds + 3);
    await sleep(2_000);
    const before = await reading(dispatcher);
    await sleep(seconds * 1_000);
    const after = await reading(dispatcher);
    const emitted = await feeding;
    await untilReceived(emitted);
    const arrivals = await ask.receiver<Arrivals>({ type: "arrivals" });

    progress(`The bare loop for ${seconds} s`);
    const bare = await ask.gotLoop({ url, ca: place.ca, concurrency: 200, seconds, body: SAMPLE_BODY });

    const deliveries = after.count - before.count;
    const deliveriesPerSecond = deliveries / ((after.at - before.at) / 1_000);
    return {
      endpoints: ENDPOINTS,
      seconds,
      deliveriesPerSecond,
      dispatcherCpuMicroseconds: ((after.cpuSeconds - before.cpuSeconds) * 1_000_000) / deliveries,
      dispatcherMebibytes: after.memoryBytes / 1024 / 1024,
      bareGotPerSecond: bare.perSecond,
      bareGotCpuMicroseconds: bare.cpuMicroseconds,
      ratio: deliveriesPerSecond / bare.perSecond,
      lost: emitted - arrivals.different,
      repeated: arrivals.repeated,
    };
  } finally {
    await Promise.all([receiver, emitter, gotLoop].map((child: Child) => child.stop()));
  }

  async function feed(forSeconds: number): Promise<number> {
    const end = performance.now() + forSeconds * 1_000;
    let emitted = 0;
    while (performance.now() < end) {
      if (emitted - (await ask.receiver<number>({ type: "count" })) > LEAD) {
        await sleep(10);
        continue;
      }
      await ask.emitter({ type: "emit", count: CHUNK });
      emitted += CHUNK;
    }
    return emitted;
  }

  async function untilReceived(count: number): Promise<void> {
    const deadline = Date.now() + 120_000;
    while ((await ask.receiver<number>({ type: "count" })) < count) {
      if (Date.now() > deadline) throw new Error(`The receiver did not get ${count} requests within two minutes.`);
      await sleep(50);
    }
  }

  async function reading(dispatcher: ServiceProcess) {
    const at = performance.now();
    const count = await ask.receiver<number>({ type: "count" });
    const metrics = await (await fetch(`${dispatcher.operationsUrl}/metrics`)).text();
    return {
      at,
      count,
      cpuSeconds: metricOf(metrics, "process_cpu_seconds_total"),
      memoryBytes: metricOf(metrics, "process_resident_memory_bytes"),
    };
  }
}

const SAMPLE_BODY = JSON.stringify({
  id: "0190a1b2-0000-7000-8000-0000000000bb",
  type: "WorkItemCompleted",
  occurredAtUtc: "2026-03-01T12:00:00.000Z",
  entityType: "WorkItem",
  entityId: "0190a1b2-0000-7000-8000-0000000000aa",
  data: {
    changes: { Status: { oldValue: "InProgress", newValue: "Done" }, Estimate: { oldValue: "8", newValue: "13" } },
  },
});

/** One endpoint an organization, so that an event is one delivery. */
async function createEndpoints(apiUrl: string, receiverUrl: string): Promise<string[]> {
  const organizationIds: string[] = [];
  for (let index = 0; index < ENDPOINTS; index++) {
    const api = await apiClient(apiUrl);
    await api.create({ url: `${receiverUrl}/${index}` });
    organizationIds.push(api.organizationId);
  }
  return organizationIds;
}

function metricOf(metrics: string, name: string): number {
  const line = metrics.split("\n").find((each) => each.startsWith(`${name}{`) || each.startsWith(`${name} `));
  return Number(line?.split(" ").at(-1));
}
