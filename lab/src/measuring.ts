import { setTimeout as sleep } from "node:timers/promises";
import type { ServiceProcess } from "@herald/e2e/herald/processes";
import { readService } from "@herald/e2e/herald/readings";
import { median, quantile } from "@herald/e2e/statistics";
import { serverCpu } from "./servers.ts";
import type { AddedEndpoint, Busy, Traffic, TrafficArrivals } from "./traffic.ts";

/** Even traffic that was measured for a time. */
export interface Steady extends Omit<TrafficArrivals, "different" | "differentOf" | "repeated"> {
  emitted: number;
  busy: Busy;
}

/** Emits evenly from an empty start, and resolves when what arrives in time has arrived. */
export async function measureSteady(
  traffic: Traffic,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Steady> {
  await traffic.reset();
  await traffic.busy();
  const emitted = await traffic.emitEvenly(perSecond, seconds);
  const busy = await traffic.busy();
  await sleep(500);
  const { delays, plannedAt, paths } = await traffic.arrivals();
  return { emitted, delays, plannedAt, paths, busy };
}

/** The deliveries of a time in which there is always more to deliver, or those to added endpoints, and what `read` grows by a delivery. */
export async function measureRate<Name extends string>(
  traffic: Traffic,
  seconds: number,
  read: () => Promise<Record<Name, number>> = async () => ({}) as Record<Name, number>,
  ...added: readonly AddedEndpoint[]
) {
  await traffic.busy();
  const reading = async () => ({
    values: await read(),
    count: await traffic.received(...added),
    at: performance.now(),
  });
  const before = await reading();
  await sleep(seconds * 1_000);
  const after = await reading();
  const deliveries = after.count - before.count;
  const names = Object.keys(after.values) as Name[];
  return {
    perSecond: (deliveries * 1_000) / (after.at - before.at),
    each: Object.fromEntries(
      names.map((name) => [name, (after.values[name] - before.values[name]) / deliveries]),
    ) as Record<Name, number>,
    busy: await traffic.busy(),
  };
}

/** Waits until so many events have arrived; tells what arrived, and how many never did. */
export async function untilArrived(traffic: Traffic, emitted: number): Promise<TrafficArrivals & { lost: number }> {
  await traffic.untilReceived(emitted);
  const arrivals = await traffic.arrivals();
  return { ...arrivals, lost: emitted - arrivals.different };
}

/** CPU so far of these services and of both servers, in microseconds. */
export async function cpuSoFar(dispatchers: readonly ServiceProcess[], publisher: ServiceProcess) {
  const readings = await Promise.all([...dispatchers, publisher].map(readService));
  const ofPublisher = readings.pop()?.cpuSeconds ?? 0;
  const { postgres, rabbitmq } = serverCpu();
  return {
    dispatcherCpu: readings.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0) * 1_000_000,
    publisherCpu: ofPublisher * 1_000_000,
    postgresCpu: postgres * 1_000_000,
    rabbitmqCpu: rabbitmq * 1_000_000,
  };
}

/** How much worse off the worst endpoint's organization is than the middle one: the one's 95th percentile to the other's. */
export function worstToMiddle({ delays, paths }: Pick<Steady, "delays" | "paths">): number {
  const byPath = new Map<string, number[]>();
  for (const [index, path] of paths.entries()) {
    const arrived = byPath.get(path) ?? [];
    arrived.push(delays[index] as number);
    byPath.set(path, arrived);
  }
  const each = [...byPath.values()].map((arrived) => quantile(arrived, 0.95));
  return Math.max(...each) / median(each);
}
