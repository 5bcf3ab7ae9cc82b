import { setTimeout as sleep } from "node:timers/promises";
import { type Child, startChild } from "../child.ts";
import { apiClient } from "../herald/api-client.ts";
import type { ServiceProcess } from "../herald/processes.ts";
import type { BenchPlace, Site } from "./place.ts";
import type { EmitterRequest } from "./processes/emitter.ts";
import type { Arrivals, ReceiverRequest } from "./processes/receiver.ts";

/** The two ends of Herald, each a process of its own: an emitter of business events, and a receiver of their deliveries. */
export interface Traffic {
  readonly receiverUrl: string;
  /** One for each endpoint, so that an event is one delivery. */
  readonly organizationIds: readonly string[];
  /** Emits so many events as fast as it can; resolves when all are confirmed. */
  emit(count: number): Promise<void>;
  /** Emits at an even rate, whatever becomes of the events; resolves with how many when all are confirmed. */
  emitEvenly(perSecond: number, seconds: number): Promise<number>;
  /** Keeps so many events ahead of the receiver for a time; resolves with how many it emitted. */
  feed(seconds: number): Promise<number>;
  received(): Promise<number>;
  /** @throws where the receiver doesn't get as many within two minutes */
  untilReceived(count: number): Promise<void>;
  /** Forgets what arrived so far. */
  reset(): Promise<void>;
  arrivals(): Promise<Arrivals>;
  /** Lets the endpoints of these places in `organizationIds` hang, and all others answer. */
  hang(endpoints: readonly number[]): Promise<void>;
  /** Share of the time since the last call that the emitter's and the receiver's threads worked, in percent. */
  busy(): Promise<{ emitter: number; receiver: number }>;
  close(): Promise<void>;
}

/** Events that are ahead of the receiver: enough to keep the dispatcher busy, too few to be a backlog of its own. */
const LEAD = 2_000;
const CHUNK = 250;

/** Creates the endpoints through the management API; the publisher must run before anything is emitted. */
export async function startTraffic(
  place: BenchPlace,
  site: Site,
  { api, endpoints }: { api: ServiceProcess; endpoints: number },
): Promise<Traffic> {
  const children: Child[] = [];
  const close = async () => {
    await Promise.all(children.map((child) => child.stop()));
  };
  try {
    const receiver = await startChild(new URL("./processes/receiver.js", import.meta.url));
    children.push(receiver);
    const emitter = await startChild(new URL("./processes/emitter.js", import.meta.url));
    children.push(emitter);
    const askReceiver = <T>(request: ReceiverRequest) => receiver.ask<T>(request);
    const askEmitter = <T>(request: EmitterRequest) => emitter.ask<T>(request);
    const port = await askReceiver<number>({ type: "listen", ...place.receiverCertificate });
    const receiverUrl = `https://127.0.0.1:${port}`;
    const organizationIds: string[] = [];
    for (let index = 0; index < endpoints; index++) {
      const admin = await apiClient(`http://127.0.0.1:${api.port}`);
      await admin.create({ url: `${receiverUrl}/${index}` });
      organizationIds.push(admin.organizationId);
    }
    await askEmitter({ type: "connect", url: site.amqpUrl, namespace: site.namespace, organizationIds });
    const received = () => askReceiver<number>({ type: "count" });
    const emit = (count: number) => askEmitter<void>({ type: "emit", count });
    return {
      receiverUrl,
      organizationIds,
      emit,
      emitEvenly: (perSecond, seconds) => askEmitter({ type: "emitEvenly", perSecond, seconds }),
      async feed(seconds) {
        const end = performance.now() + seconds * 1_000;
        let emitted = 0;
        while (performance.now() < end) {
          if (emitted - (await received()) > LEAD) {
            await sleep(10);
            continue;
          }
          await emit(CHUNK);
          emitted += CHUNK;
        }
        return emitted;
      },
      received,
      async untilReceived(count) {
        const deadline = Date.now() + 120_000;
        while ((await received()) < count) {
          if (Date.now() > deadline) throw new Error(`The receiver did not get ${count} requests within two minutes.`);
          await sleep(50);
        }
      },
      reset: () => askReceiver({ type: "reset" }),
      arrivals: () => askReceiver({ type: "arrivals" }),
      hang: (indexes) => askReceiver({ type: "hang", paths: indexes.map((index) => `/${index}`) }),
      busy: async () => ({
        emitter: await askEmitter<number>({ type: "busy" }),
        receiver: await askReceiver<number>({ type: "busy" }),
      }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
