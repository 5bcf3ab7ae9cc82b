import { setTimeout as sleep } from "node:timers/promises";
import { type Child, startChild } from "@herald/e2e/child";
import { type ApiClient, apiClient } from "@herald/e2e/herald/api-client";
import type { ServiceProcess } from "@herald/e2e/herald/processes";
import type { BenchEnvironment, BenchHerald } from "./environment.ts";
import type { EmitterRequest } from "./processes/emitter.ts";
import type { Arrivals, Behaviour, ReceiverRequest } from "./processes/receiver.ts";

export type Traffic = Awaited<ReturnType<typeof startTraffic>>;

/** As the receiver has them. The path "/0" is the endpoint of the first of `organizationIds`. */
export interface TrafficArrivals extends Omit<Arrivals, "different"> {
  /** Different events at the endpoints of `organizationIds`. */
  different: number;
  /** Different events at an added endpoint. */
  differentOf(added: AddedEndpoint): number;
}

/** An endpoint for what goes on beside the measured traffic. */
export interface AddedEndpoint {
  readonly id: string;
  readonly path: string;
  readonly admin: ApiClient;
  /** How the receiver answers it from now on; by default with 204 at once. */
  answer(behaviour: Partial<Behaviour>): Promise<void>;
}

/** Events that are ahead of the receiver: enough to keep the dispatcher busy, too few to be a backlog of its own. */
const LEAD = 2_000;
const CHUNK = 250;

export interface TrafficOptions {
  /** The management API that makes endpoints. */
  api?: ServiceProcess;
  /** Lets events of a new organization go to this URL; returns the organization. By the API, unless something else than Herald delivers them. */
  subscribe?: (url: string) => Promise<string>;
  endpoints: number;
  /** The host of each endpoint's URL: this machine by its address, unless said otherwise. */
  hostOf?: (index: number) => string;
}

const HOST = "127.0.0.1";
/** Endpoints that are created at once, where there are very many. */
const CREATED_AT_ONCE = 4;

/**
 * Starts the two ends of Herald, each a process of its own: an emitter of business events, and a receiver of their deliveries. Creates the endpoints
 * through the management API; the publisher must run before anything is emitted.
 */
export async function startTraffic(
  environment: BenchEnvironment,
  herald: BenchHerald,
  { api, subscribe, endpoints, hostOf = () => HOST }: TrafficOptions,
) {
  const children: Child[] = [];
  const close = async () => {
    await Promise.all(children.map((child) => child.stop()));
  };
  const start = async (module: string) => {
    const child = await startChild(new URL(module, import.meta.url));
    children.push(child);
    return child;
  };
  try {
    const receiver = await start("./processes/receiver.js");
    const askReceiver = <T>(request: ReceiverRequest) => receiver.ask<T>(request);
    const port = await askReceiver<number>({ type: "listen", ...environment.receiverCertificate });
    const newAdmin = (organizationId?: string) => apiClient(`http://127.0.0.1:${api?.port}`, organizationId);
    const subscribeByApi = async (url: string) => {
      const admin = await newAdmin();
      await admin.create({ url });
      return admin.organizationId;
    };
    const addEndpoint = async (path: string, admin: ApiClient): Promise<AddedEndpoint> => ({
      admin,
      id: (await admin.create({ url: `https://${HOST}:${port}${path}` })).endpoint.id,
      path,
      answer: (behaviour) => askReceiver({ type: "answer", paths: [path], behaviour }),
    });
    const startEmitter = async (organizationIds: readonly string[], timed: boolean) => {
      const emitter = await start("./processes/emitter.js");
      const ask = <T>(request: EmitterRequest) => emitter.ask<T>(request);
      await ask({ type: "connect", url: herald.amqpUrl, namespace: herald.namespace, organizationIds, timed });
      return ask;
    };

    const paths = Array.from({ length: endpoints }, (_, index) => `/${index}`);
    const organizationIds: string[] = [];
    while (organizationIds.length < endpoints) {
      const first = organizationIds.length;
      const created = await Promise.all(
        paths
          .slice(first, first + CREATED_AT_ONCE)
          .map((path, index) => (subscribe ?? subscribeByApi)(`https://${hostOf(first + index)}:${port}${path}`)),
      );
      organizationIds.push(...created);
    }
    const askEmitter = await startEmitter(organizationIds, true);
    const sum = (of: Record<string, number>) => paths.reduce((total, path) => total + (of[path] ?? 0), 0);

    /** Deliveries that arrived at the endpoints of `organizationIds`, or at these that were added. */
    async function received(...added: readonly AddedEndpoint[]): Promise<number> {
      const counts = await askReceiver<Record<string, number>>({ type: "counts" });
      if (added.length === 0) return sum(counts);
      return added.reduce((total, { path }) => total + (counts[path] ?? 0), 0);
    }

    /** Emits as fast as it can; resolves when all are confirmed. Each event carries so many bytes besides what all do. */
    const emit = (count: number, textBytes = 0) => askEmitter<void>({ type: "emit", count, textBytes });
    return {
      /** One for each endpoint, so that an event is one delivery. */
      organizationIds,
      emit,
      /** Emits at an even rate, whatever becomes of the events; resolves with how many when all are confirmed. */
      emitEvenly: (perSecond: number, seconds: number) =>
        askEmitter<number>({ type: "emitEvenly", perSecond, seconds }),
      /** Keeps `lead` events ahead of the receiver until `end` is aborted; resolves with how many it emitted. */
      async feed(end: AbortSignal, lead = LEAD) {
        let emitted = 0;
        while (!end.aborted) {
          if (emitted - (await received()) > lead) {
            await sleep(10);
            continue;
          }
          await emit(CHUNK);
          emitted += CHUNK;
        }
        return emitted;
      },
      received,
      /** @throws where the receiver doesn't get as many within five minutes */
      async untilReceived(count: number, added?: AddedEndpoint) {
        const deadline = Date.now() + 300_000;
        while ((await received(...(added ? [added] : []))) < count) {
          if (Date.now() > deadline) throw new Error(`The receiver did not get ${count} requests within five minutes.`);
          await sleep(50);
        }
      },
      reset: () => askReceiver<void>({ type: "reset" }),
      async arrivals(): Promise<TrafficArrivals> {
        const { different, ...arrivals } = await askReceiver<Arrivals>({ type: "arrivals" });
        return { ...arrivals, different: sum(different), differentOf: ({ path }) => different[path] ?? 0 };
      },
      /** How long the receiver takes on average to answer the endpoints of `organizationIds` from now on. */
      answerAfter: (afterMs: number) => askReceiver<void>({ type: "answer", paths, behaviour: { afterMs } }),
      /** Creates an endpoint, with an organization of its own, that gets nothing of what is emitted here. */
      addEndpoint: async (name: string, organizationId?: string) =>
        await addEndpoint(`/${name}`, await newAdmin(organizationId)),
      /** Starts another emitter, a process of its own, of events for added endpoints by turns, whose way is not measured. */
      async addEmitter(...endpoints: readonly AddedEndpoint[]) {
        const ask = await startEmitter(
          endpoints.map(({ admin }) => admin.organizationId),
          false,
        );
        return { emit: (count: number) => ask<void>({ type: "emit", count, textBytes: 0 }) };
      },
      /** Share of the time since the last call that the emitter's and the receiver's threads worked, in percent. */
      busy: async () => ({
        emitterBusy: await askEmitter<number>({ type: "busy" }),
        receiverBusy: await askReceiver<number>({ type: "busy" }),
      }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
