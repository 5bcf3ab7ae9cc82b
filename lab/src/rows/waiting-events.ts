import { setTimeout as sleep } from "node:timers/promises";
import { declareHints, names } from "@herald/common/broker/topology";
import type { ServiceProcess } from "@herald/e2e/herald/processes";
import { readService } from "@herald/e2e/herald/service-readings";
import { type ServerCpu, serverCpu } from "../cpu.ts";
import type { BenchEnvironment, BenchHerald } from "../environment.ts";
import { onChannel } from "../on-channel.ts";
import type { BenchOptions, OpenRow } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import type { Traffic } from "../traffic.ts";
import { inDatabase } from "./stored-backlog.ts";

const ENDPOINTS = 20;
const WARM_UP_EVENTS = 20_000;
const TIMEOUT_MS = 120_000;

/** A Herald with one publisher and no dispatcher, so that its deliveries stay to be counted. */
export interface WaitingEvents {
  readonly herald: BenchHerald;
  readonly publisher: ServiceProcess;
  readonly conditions: OpenRow["conditions"];
  /** Lets a round's events gather in the broker, and then these publishers make deliveries of them. */
  fanOut(publishers: readonly ServiceProcess[]): Promise<FannedOut>;
  close(): Promise<void>;
}

/**
 * Starts it and warms it up.
 *
 * @param eventsASecond events of a round, for each second that a round is to take
 */
export async function startWaitingEvents(
  environment: BenchEnvironment,
  { name, eventsASecond, seconds, progress }: { name: string; eventsASecond: number } & BenchOptions,
): Promise<WaitingEvents> {
  const events = Math.round(eventsASecond * seconds);
  const services = ["publisher"] as const;
  const { herald, traffic, service, close } = await startHerald(environment, { name, endpoints: ENDPOINTS, services });
  const publisher = service("publisher");
  // Only who consumes hints declares their queue, and here they have to go somewhere.
  await onChannel(herald, (channel) => declareHints(channel, herald.namespace));
  progress("Warming up");
  await fanOutWaiting(herald, traffic, [publisher], Math.min(WARM_UP_EVENTS, events));
  return {
    herald,
    publisher,
    conditions: {
      endpoints: ENDPOINTS,
      "deliveries an event": 1,
      "events waiting": events,
      "body bytes": SAMPLE_BODY.length,
    },
    fanOut: (publishers) => fanOutWaiting(herald, traffic, publishers, events),
    close,
  };
}

/** How publishers, and nobody else, made deliveries of events that had gathered in the broker. */
interface FannedOut {
  perSecond: number;
  /** Of all publishers together, and of the servers, in microseconds an event. */
  publisherCpu: number;
  serverCpu: ServerCpu;
  /** Of the largest publisher. */
  publisherMemory: number;
  /** Deliveries that are missing. */
  lost: number;
  /** Hints an event: one for each endpoint of a batch. */
  hints: number;
}

/** Lets events gather while the publishers are held, then lets go, and clears away what they made. */
async function fanOutWaiting(
  herald: BenchHerald,
  traffic: Traffic,
  publishers: readonly ServiceProcess[],
  count: number,
): Promise<FannedOut> {
  // Held, rather than stopped, while events gather: starting is not what is measured here.
  const signal = (name: NodeJS.Signals) => {
    for (const publisher of publishers) process.kill(publisher.process.pid, name);
  };
  const before = await readAll(publishers);
  signal("SIGSTOP");
  try {
    await traffic.emit(count);
  } finally {
    signal("SIGCONT");
  }
  const serversBefore = serverCpu();
  const begun = performance.now();
  let after = before;
  while (after.deliveries - before.deliveries < count) {
    if (performance.now() - begun > TIMEOUT_MS) throw new Error(`${count} events were not fanned out in time.`);
    await sleep(20);
    after = await readAll(publishers);
  }
  const elapsedSeconds = (performance.now() - begun) / 1_000;
  const serversAfter = serverCpu();
  const each = (seconds: number) => (seconds * 1_000_000) / count;
  return {
    perSecond: count / elapsedSeconds,
    publisherCpu: each(after.cpuSeconds - before.cpuSeconds),
    serverCpu: {
      postgres: each(serversAfter.postgres - serversBefore.postgres),
      rabbitmq: each(serversAfter.rabbitmq - serversBefore.rabbitmq),
    },
    publisherMemory: after.residentMebibytes,
    lost: count - (await takeDeliveries(herald)),
    hints: (after.hints - before.hints) / count,
  };
}

async function readAll(publishers: readonly ServiceProcess[]) {
  const readings = await Promise.all(publishers.map(readService));
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  return {
    deliveries: sum(readings.map((reading) => reading.counter("herald_fan_out_deliveries_total"))),
    hints: sum(readings.map((reading) => reading.counter("herald_hints_total", 'result="sent"'))),
    cpuSeconds: sum(readings.map((reading) => reading.cpuSeconds)),
    residentMebibytes: Math.max(...readings.map((reading) => reading.residentMebibytes)),
  };
}

/** Counts what was stored, and clears it and its hints away, so that the next round begins like this one. */
async function takeDeliveries(herald: BenchHerald): Promise<number> {
  const count = await inDatabase(herald, async (client) => {
    const { rows } = await client.query<{ count: number }>("select count(*)::int as count from delivery");
    await client.query("truncate due, delivery, delivery_attempt, business_event");
    return rows[0]?.count ?? 0;
  });
  await onChannel(herald, (channel) => channel.purgeQueue(names(herald.namespace).hintsQueue));
  return count;
}
