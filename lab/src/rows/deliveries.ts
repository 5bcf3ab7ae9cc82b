import { setTimeout as sleep } from "node:timers/promises";
import { startChild } from "@herald/e2e/child";
import { readService } from "@herald/e2e/herald/service-readings";
import { serverCpu } from "../cpu.ts";
import type { GotLoopRequest, GotLoopResult } from "../processes/got-loop.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type Row } from "../row.ts";
import { startHerald } from "../running-herald.ts";
import { SAMPLE_BODY } from "../sample-body.ts";
import type { ServerWork } from "../server-work.ts";
import { worstToMiddle } from "../spread.ts";

const ENDPOINTS = 20;
const WARM_UP_EVENTS = 4_000;
/** The first of them open connections and fill the pipeline. */
const SETTLING_MS = 2_000;
const BARE_CONCURRENCY = 200;

/** What one dispatcher delivers while there is always more to deliver, and everything else works on the same cores. */
export const deliveriesRow: Row = {
  name: "deliveries",
  title: "Sustained deliveries of one dispatcher",
  figures: {
    perSecond: { label: "deliveries", unit: "/s" },
    bare: { label: "requests of a bare got loop", unit: "/s" },
    ratio: { label: "deliveries to bare requests", unit: "x", bar: { atLeast: 0.95 } },
    dispatcherCpu: { label: "CPU a delivery, dispatcher", unit: "us" },
    publisherCpu: { label: "CPU a delivery, publisher", unit: "us" },
    postgresCpu: { label: "CPU a delivery, PostgreSQL", unit: "us" },
    rabbitmqCpu: { label: "CPU a delivery, RabbitMQ", unit: "us" },
    worstToMiddle: { label: "p95 of the worst organization, to the middle one's", unit: "x", bar: { atMost: 3 } },
    bareCpu: { label: "CPU a request, bare got loop", unit: "us" },
    dispatcherMemory: { label: "resident memory, dispatcher", unit: "MiB", bar: { atMost: 130 } },
    publisherMemory: { label: "resident memory, publisher", unit: "MiB", bar: { atMost: 130 } },
    apiMemory: { label: "resident memory, management API", unit: "MiB", bar: { atMost: 130 } },
    wal: { label: "log of PostgreSQL a delivery", unit: "B", bar: { atMost: 1_700 } },
    indexInsertions: { label: "index entries a delivery", unit: "", bar: { atMost: 6 } },
    hotUpdates: { label: "updates that were HOT", unit: "%" },
    transactions: { label: "transactions of PostgreSQL a delivery", unit: "" },
    brokerIn: { label: "sent to RabbitMQ a delivery", unit: "B" },
    brokerOut: { label: "sent by RabbitMQ a delivery", unit: "B" },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  compared: {
    perSecond: { atLeast: 1.3 },
    ratio: "shown",
    postgresCpu: { atMost: 0.6 },
    rabbitmqCpu: "shown",
    dispatcherCpu: "shown",
    publisherCpu: "shown",
    wal: "shown",
    worstToMiddle: "shown",
  },
  async open(environment, { seconds, progress }) {
    const running = await startHerald(environment, { name: "deliveries", endpoints: ENDPOINTS });
    const { herald, traffic } = running;
    const api = running.service("management-api");
    const dispatcher = running.service("dispatcher");
    const publisher = running.service("publisher");
    const gotLoop = await startChild(new URL("../processes/got-loop.js", import.meta.url));
    progress("Warming up");
    await traffic.emit(WARM_UP_EVENTS);
    await traffic.untilReceived(WARM_UP_EVENTS);

    async function reading() {
      const [servers, ofDispatcher, ofPublisher] = [
        serverCpu(),
        await readService(dispatcher),
        await readService(publisher),
      ];
      return { at: performance.now(), count: await traffic.received(), servers, ofDispatcher, ofPublisher };
    }

    return {
      conditions: {
        endpoints: ENDPOINTS,
        "deliveries an event": 1,
        "receiver answers after": "0 ms",
        "body bytes": SAMPLE_BODY.length,
        "bare requests in flight": BARE_CONCURRENCY,
        seconds,
      },
      async round() {
        await traffic.reset();
        const workBefore = await herald.serverWork();
        const feeding = traffic.feed(AbortSignal.timeout(seconds * 1_000 + SETTLING_MS + 1_000));
        await sleep(SETTLING_MS);
        await traffic.busy();
        const before = await reading();
        await sleep(seconds * 1_000);
        const after = await reading();
        const busy = await traffic.busy();
        const emitted = await feeding;
        await traffic.untilReceived(emitted);
        const workAfter = await herald.serverWork();
        const { different, repeated, ...arrived } = await traffic.arrivals();
        const bare = await gotLoop.ask<GotLoopResult>({
          url: traffic.receiverUrl,
          ca: environment.ca,
          concurrency: BARE_CONCURRENCY,
          seconds,
          body: SAMPLE_BODY,
        } satisfies GotLoopRequest);
        const deliveries = after.count - before.count;
        const perSecond = deliveries / ((after.at - before.at) / 1_000);
        const each = (read: (at: typeof before) => number) => ((read(after) - read(before)) * 1_000_000) / deliveries;
        const work = (name: keyof ServerWork) => (workAfter[name] - workBefore[name]) / emitted;
        return {
          perSecond,
          bare: bare.perSecond,
          ratio: perSecond / bare.perSecond,
          dispatcherCpu: each((at) => at.ofDispatcher.cpuSeconds),
          publisherCpu: each((at) => at.ofPublisher.cpuSeconds),
          postgresCpu: each((at) => at.servers.postgres),
          rabbitmqCpu: each((at) => at.servers.rabbitmq),
          worstToMiddle: worstToMiddle(arrived),
          bareCpu: bare.cpuMicroseconds,
          dispatcherMemory: after.ofDispatcher.residentMebibytes,
          publisherMemory: after.ofPublisher.residentMebibytes,
          apiMemory: (await readService(api)).residentMebibytes,
          wal: work("walBytes"),
          // To a tenth: an endpoint's rows, which come once, are no part of a delivery.
          indexInsertions: Math.round(work("indexInsertions") * 10) / 10,
          hotUpdates: (100 * work("hotUpdates")) / work("updates"),
          transactions: work("transactions"),
          brokerIn: work("brokerBytesIn"),
          brokerOut: work("brokerBytesOut"),
          receiverBusy: busy.receiver,
          emitterBusy: busy.emitter,
          lost: emitted - different,
          repeated,
        };
      },
      async close() {
        await gotLoop.stop();
        await running.close();
      },
    };
  },
};
