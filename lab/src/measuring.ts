import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { withClient } from "@herald/dev/stack/postgres";
import type { ServiceProcess } from "@herald/e2e/herald/processes";
import { readService } from "@herald/e2e/herald/readings";
import { median, quantile } from "@herald/e2e/statistics";
import type { AddedEndpoint, Traffic, TrafficArrivals } from "./traffic.ts";

/** Even traffic that was measured for a time. */
export type Steady = Awaited<ReturnType<typeof measureSteady>>;

/** Emits evenly from an empty start, and resolves when what arrives in time has arrived. */
export async function measureSteady(traffic: Traffic, { perSecond, seconds }: { perSecond: number; seconds: number }) {
  await traffic.reset();
  await traffic.busy();
  const emitted = await traffic.emitEvenly(perSecond, seconds);
  const busy = await traffic.busy();
  await sleep(500);
  const { delays, paths } = await traffic.arrivals();
  return { emitted, delays, paths, busy };
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

/** {@link measureFullSpeed}, and then how long deliveries of even traffic take. `ends` is what the bench got to in each of the two, and how events arrived. */
export async function measureBoth<Name extends string>(
  traffic: Traffic,
  { seconds, evenly }: { seconds: number; evenly: number },
  read?: () => Promise<Record<Name, number>>,
) {
  const { perSecond, each, busy, feeding } = await measureFullSpeed(traffic, seconds, read);
  const full = await untilArrived(traffic, await feeding);
  const steady = await measureSteady(traffic, { perSecond: evenly, seconds });
  const { lost, repeated, delays } = await untilArrived(traffic, steady.emitted);
  const delay = { p50: quantile(delays, 0.5), p95: quantile(delays, 0.95), p99: quantile(delays, 0.99) };
  const ends = [
    { ...busy, lost: full.lost, repeated: full.repeated },
    { ...steady.busy, lost, repeated },
  ];
  return { perSecond, ...delay, ...each, ends };
}

/** The first events open connections and fill the pipeline. */
export const SETTLING_MS = 2_000;

/** {@link measureRate} from an empty start, with events ahead of the receiver. `feeding` resolves a second later with how many were emitted in all. */
export async function measureFullSpeed<Name extends string>(
  traffic: Traffic,
  seconds: number,
  read?: () => Promise<Record<Name, number>>,
) {
  await traffic.reset();
  const feeding = traffic.feed(AbortSignal.timeout(seconds * 1_000 + SETTLING_MS + 1_000));
  await sleep(SETTLING_MS);
  return { ...(await measureRate(traffic, seconds, read)), feeding };
}

/** Emits this many events, unmeasured, and resolves when they have arrived: then connections are open, and code is compiled. */
export async function warmUp(traffic: Traffic, events = 4_000): Promise<void> {
  await traffic.emit(events);
  await traffic.untilReceived(events);
}

/** Waits until this many events have arrived; returns those that arrived, and how many never did. */
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

/** Linux counts processes' time in hundredths of a second. */
const TICKS_PER_SECOND = 100;

/** CPU seconds so far of the servers that this run started. Reads /proc; NaN if there is none. */
export function serverCpu() {
  const total = { postgres: 0, rabbitmq: 0 };
  let processes: Stat[];
  try {
    processes = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap(statOf);
  } catch {
    return { postgres: Number.NaN, rabbitmq: Number.NaN };
  }
  for (const { ticks, command } of descendantsOf(process.pid, processes)) {
    if (command === "postgres") total.postgres += ticks / TICKS_PER_SECOND;
    if (command === "beam.smp") total.rabbitmq += ticks / TICKS_PER_SECOND;
  }
  return total;
}

interface Stat {
  pid: number;
  parent: number;
  command: string;
  /** Its own and those of its children that have ended. */
  ticks: number;
}

function statOf(pid: string): Stat[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const end = text.lastIndexOf(")");
    const fields = text.slice(end + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return [{ pid: Number(pid), parent: Number(fields[1]), command: text.slice(text.indexOf("(") + 1, end), ticks }];
  } catch {
    // It ended between the two reads.
    return [];
  }
}

function descendantsOf(pid: number, processes: readonly Stat[]): Stat[] {
  const children = processes.filter((each) => each.parent === pid);
  return children.flatMap((child) => [child, ...descendantsOf(child.pid, processes)]);
}

/** Longer than a session of PostgreSQL that has become idle keeps its counts to itself. */
const COUNTS_SECONDS = 10.5;

/**
 * PostgreSQL's work so far, in totals that only grow: bytes of its log, which a standby would have to get; and entries that were put into indexes of this
 * database, one for each index of a row that is new, or whose update was not HOT.
 */
export function postgresWork(databaseUrl: string) {
  return withClient(databaseUrl, async (client) => {
    await client.query("select pg_sleep($1)", [COUNTS_SECONDS]);
    const { rows } = await client.query<Record<"walBytes" | "indexInsertions", string>>(
      `select
        pg_current_wal_insert_lsn() - '0/0' as "walBytes",
        sum((n_tup_ins + n_tup_upd - n_tup_hot_upd) * (select count(*) from pg_index where indrelid = relid))
          as "indexInsertions"
      from pg_stat_user_tables`,
    );
    return { walBytes: Number(rows[0]?.walBytes), indexInsertions: Number(rows[0]?.indexInsertions) };
  });
}
