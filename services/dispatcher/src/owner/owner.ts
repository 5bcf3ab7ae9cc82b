import { ARRIVAL } from "@herald/common/broker/arrival";
import { shardOf } from "@herald/common/database/shards";
import type { EndpointChanged, HandOver } from "@herald/contracts";
import { createInFlight } from "../attempt/in-flight.ts";
import type { MakeAttempt, Outcome } from "../attempt/make-attempt.ts";
import { createEndpoints, type Endpoint } from "../endpoint/endpoint.ts";
import type { GateOptions } from "../endpoint/gate.ts";
import type { BacklogPage, Reading } from "../endpoint/line.ts";
import { createMemory } from "../endpoint/memory.ts";
import type { RetrySchedule } from "../endpoint/retry-schedule.ts";
import type { Outage } from "../outage/outage.ts";
import { createProducer, type ProducerBounds } from "../producer/producer.ts";
import type { SettleQueue } from "../settle/settle-queue.ts";
import type { Shards } from "../shards/shards.ts";
import type { Delivery } from "../sql/describe-deliveries.ts";
import type { EndpointWithWork } from "../sql/read-due.ts";
import { createAhead } from "./ahead.ts";
import { type ConfigurationParts, createConfigurations } from "./configurations.ts";
import { deliveryOf } from "./hand-over.ts";
import type { BacklogDemand } from "./read-backlog.ts";

interface Parts extends ConfigurationParts {
  schedule: RetrySchedule;
  shards: Shards;
  outage: Outage;
  /** Rejects if PostgreSQL refuses it. */
  readBacklog: (demand: BacklogDemand) => Promise<BacklogPage>;
  settlements: SettleQueue;
  makeAttempt: MakeAttempt;
}

export interface OwnerOptions extends GateOptions {
  newOwnerMs: number;
  maxEndpoints: number;
  bounds: ProducerBounds;
}

export type Owner = ReturnType<typeof createOwner>;

/**
 * The endpoints of this dispatcher's shards. It alone makes their attempts, so it knows what is in flight and due, and the health of each. It writes
 * none of that down: if it forgets something, or its successor needs it, PostgreSQL has it. Each method is a message to it.
 */
export function createOwner(parts: Parts, options: OwnerOptions) {
  const { clock, metrics, schedule, shards, outage, settlements, readBacklog, log } = parts;
  const { epochOf } = shards;
  const { concurrency, bounds } = options;
  const nowMs = () => clock.now().getTime();
  const times = {
    nowMs,
    isDue: ({ dueAt }: { dueAt: Date }, atMs: number) =>
      dueAt.getTime() <= atMs || dueAt > schedule.latestDue(clock.now()),
  };
  const memory = createMemory(bounds.bodiesBytes, () => performance.now());
  const shared = { clock, memory, times, gate: options };
  const endpoints = createEndpoints(shared, options.maxEndpoints, (endpoint) => producer.forget(endpoint));
  const mayBegin = (shard: number) => !outage.isOn() && epochOf(shard) !== undefined;
  const producer = createProducer(
    {
      mayBegin,
      read,
      attempt: (endpoint, delivery, permit) => void inFlight.begin(endpoint, delivery, permit, "due"),
      woke,
      log,
    },
    bounds,
  );
  const ahead = createAhead(nowMs, (work) => found([work], { crashed: new Set() }));
  const configurations = createConfigurations(parts, endpoints.drop);
  const inFlight = createInFlight({ ...parts, configurationOf: configurations.of, producer });

  const mayServe = (endpointId: string) => epochOf(shardOf(endpointId)) !== undefined;

  const refresh = (endpoint: Endpoint) => configurations.refresh(endpoint).then(() => producer.offer(endpoint));

  function woke(endpoint: Endpoint): void {
    if (endpoint.gate.breaker.isOpenForGood()) void refresh(endpoint);
    endpoint.line.lookForRetries();
    producer.offer(endpoint);
  }

  async function read(endpoint: Endpoint, reserved: number, { ahead }: { ahead: boolean }): Promise<void> {
    const { id: endpointId, shard, line, gate } = endpoint;
    const reading: Reading = line.beginReading(reserved + (ahead && !memory.isFull() ? concurrency : 0), gate.inFlight);
    // The same object and no copy: the reader sets `countInterruptions`, and `endReading` looks at it.
    const demand = Object.assign(reading, { endpointId, shard, epoch: epochOf(shard) ?? -1 });
    const page = await readBacklog(demand).catch(() => undefined);
    if (!endpoint.isGone) line.endReading(reading, page);
  }

  /**
   * Whether a delivery may be attempted whose event is not stored yet. If anything is unusual, the publisher's statement comes first: it knows
   * whether the endpoint gets the event, and whether it had it before. An owner of a few seconds can't know what the owner before it sent.
   */
  function mayComeFirst({ shard, gate, line }: Endpoint): boolean {
    if (!gate.breaker.isHealthy() || line.isBehind) return false;
    return settlements.isWriting() && !outage.isOn() && shards.ownedMs(shard) >= options.newOwnerMs;
  }

  function takeUp(found: EndpointWithWork, crashed: ReadonlySet<number>): void {
    const { endpointId, organizationId, revision } = found;
    if (!mayServe(endpointId)) return;
    const isAhead = !times.isDue(found, nowMs());
    const endpoint = isAhead ? endpoints.known(endpointId) : endpoints.of(endpointId, organizationId);
    if (isAhead) ahead.add(found, endpoint);
    if (!endpoint) return;
    endpoint.gate.breaker.know(found);
    // The message about its change was lost.
    if (endpoint.configuration.isOther(revision)) void refresh(endpoint);
    endpoint.line.found(found, { crashed: crashed.has(endpoint.shard) });
    producer.offer(endpoint);
  }

  function found(works: readonly EndpointWithWork[], { crashed }: { crashed: ReadonlySet<number> }): void {
    for (const each of works) {
      try {
        takeUp(each, crashed);
      } catch (error) {
        const { endpointId } = each;
        log.error("an endpoint's deliveries can't be handled now; a sweep comes back to them", { endpointId, error });
      }
    }
  }

  return {
    /** A publisher has stored these deliveries, or will in a moment. */
    handedOver({ stored, events, deliveries, work }: HandOver) {
      const offered = new Set<Endpoint>();
      for (const each of deliveries) {
        const event = events[each.event];
        if (event === undefined || !mayServe(each.endpointId)) continue;
        const endpoint = endpoints.of(each.endpointId, each.organizationId);
        const readAtMs = Date.parse(each.readAtUtc);
        const isSame = endpoint.configuration.wasSeen(each.revision, readAtMs, stored);
        if (!stored && !(isSame && mayComeFirst(endpoint))) {
          metrics.handedOver.inc({ result: "unstored" });
          continue;
        }
        offered.add(endpoint);
        // So late that the owner may have forgotten the attempt.
        if (stored && nowMs() - readAtMs > ARRIVAL.handedOverMs) endpoint.line.wantMore();
        else metrics.handedOver.inc({ result: endpoint.line.handOver(deliveryOf(each, event, stored)) });
      }
      for (const { endpointId, organizationId, arrived } of work) {
        if (!mayServe(endpointId)) continue;
        const endpoint = endpoints.of(endpointId, organizationId);
        const lacking = arrived?.filter((deliveryId) => !memory.stored({ deliveryId, attempts: 0 }));
        if (lacking?.length === 0) continue;
        endpoint.line.wantMore();
        offered.add(endpoint);
      }
      for (const endpoint of offered) producer.offer(endpoint);
    },
    /** The management API has changed an endpoint, or deleted it. */
    changed({ endpointId, organizationId }: EndpointChanged) {
      if (!mayServe(endpointId)) return;
      const endpoint = endpoints.of(endpointId, organizationId);
      endpoint.configuration.changed(nowMs());
      // It may have been resumed: then it does not rest any more.
      endpoint.line.wantMore();
      void refresh(endpoint);
    },
    found,
    /** Attempts a manual delivery at once; undefined if it has to wait in the line of its endpoint. */
    manual(delivery: Delivery, isWithinCaps: boolean): Promise<Outcome> | undefined {
      const { endpointId, organizationId } = delivery;
      if (memory.has(delivery) || !mayServe(endpointId)) return undefined;
      const endpoint = endpoints.of(endpointId, organizationId);
      const mayAskNow = isWithinCaps && !endpoint.gate.isResting;
      const permit = mayAskNow ? producer.permitAtOnce(endpoint, delivery) : undefined;
      if (permit === undefined) {
        endpoint.line.add([delivery]);
        producer.offer(endpoint);
        return undefined;
      }
      memory.add(delivery);
      return inFlight.begin(endpoint, delivery, permit, "manual");
    },
    lost(shards: readonly number[]) {
      const gone = new Set(shards);
      for (const endpoint of endpoints.all()) if (gone.has(endpoint.shard)) endpoints.drop(endpoint);
    },
    /** Attempts may begin again after an outage or a time without PostgreSQL. */
    wake() {
      for (const endpoint of endpoints.all()) {
        endpoint.line.lookForRetries();
        producer.offer(endpoint);
      }
    },
    inFlightOf: inFlight.ofShard,
    idle: inFlight.idle,
  };
}
