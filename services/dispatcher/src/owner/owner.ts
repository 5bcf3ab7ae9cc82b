import { shardOf } from "@herald/common/database/shards";
import type { Clock } from "@herald/common/runtime/clock";
import type { EndpointChanged, HandOver } from "@herald/contracts";
import { type BreakerOptions, createBreaker } from "../admission/breaker.ts";
import { createByteBudget } from "../admission/byte-budget.ts";
import { createLatencies } from "../admission/latencies.ts";
import { createPermits, type Permit, SLOW_MS, SPEEDS, type Speed } from "../admission/permits.ts";
import { createRate } from "../admission/rate.ts";
import { createTurns } from "../admission/turns.ts";
import type { DispatcherMetrics, Source } from "../metrics.ts";
import type { Shards } from "../shards/shards.ts";
import type { Delivery } from "../sql/describe-deliveries.ts";
import type { Configuration, TimedConfiguration } from "../sql/read-configuration.ts";
import { BEGINNING } from "../sql/read-due.ts";
import type { EndpointWithWork } from "../sql/sweep.ts";
import { createAtHand, MAX_READY } from "./at-hand.ts";
import type { BacklogDemand, BacklogPage } from "./backlog.ts";
import { type Begun, CONFIGURATION_MS, type Served } from "./begun.ts";
import type { OwnedEndpoint } from "./endpoint.ts";
import { createEndpoints } from "./endpoints.ts";
import { createKnownDeliveries, REMEMBERED_MS } from "./known-deliveries.ts";
import type { Quarantine } from "./quarantine.ts";
import { createSuspects } from "./suspects.ts";

interface Parts {
  clock: Clock;
  metrics: Pick<DispatcherMetrics, "begin" | "handedOver">;
  quarantine: Pick<Quarantine, "has">;
  shards: Pick<Shards, "epochOf" | "ownedMs" | "becameIdle">;
  /** Whether attempts may begin at all. */
  mayBegin: () => boolean;
  readBacklog: (demand: BacklogDemand) => Promise<BacklogPage>;
  /** How an endpoint is configured now; undefined where it is disabled or deleted. Never rejects but at the end of the process. */
  readConfiguration: (endpointId: string) => Promise<TimedConfiguration | undefined>;
  /** Whether results of the endpoint are not in its stored health yet. */
  isHealthPending: (endpointId: string) => boolean;
  /** Whether PostgreSQL takes results now. */
  isWriting: () => boolean;
  /** Makes an attempt and settles it; never rejects. */
  serve: (begun: Begun) => Promise<Served>;
}

export interface OwnerOptions {
  /** Attempts that an endpoint may have at once. */
  concurrency: number;
  /** Attempts a second to an endpoint; no limit where absent. */
  ratePerSecond: number | undefined;
  /** So long, an owner of a shard attempts nothing there on arrival. */
  newOwnerMs: number;
  breaker: BreakerOptions;
  bounds: { inFlight: number; bodiesBytes: number };
}

/**
 * The endpoints of this dispatcher's shards. It alone makes their attempts, so it simply knows what is in flight, what it was handed over,
 * whether PostgreSQL has more, when the next retry is due, and how the endpoint fares. Nothing of that is written down: what it forgets,
 * or its successor needs, is read from PostgreSQL.
 */
export interface Owner {
  /** What a publisher has stored, or is about to store. */
  handedOver(handOver: HandOver): void;
  /** The management API has changed an endpoint, or deleted it. */
  changed(change: EndpointChanged): void;
  /** A sweep has found these endpoints to have work. */
  found(endpoints: readonly EndpointWithWork[], options: { crashed: ReadonlySet<number> }): void;
  /**
   * Attempts a manual delivery at once, or puts it in the line of its endpoint.
   *
   * @returns what settles it; undefined where it has to wait
   */
  manual(delivery: Delivery, isWithinCaps: boolean): Promise<Served> | undefined;
  lost(shards: readonly number[]): void;
  /** Attempts may begin again that could not. */
  wake(): void;
  /** Attempts of the shard that are not settled. */
  inFlightOf(shard: number): number;
  /** Resolves when nothing is in flight. */
  idle(): Promise<void>;
}

/** Of an endpoint that failed as often as disables it, PostgreSQL is asked so often whether it is disabled. */
const LOOK_AGAIN_MS = 1_000;

/** What was handed over on arrival waits no longer than this. By then it is stored, or it could not be stored. */
const ARRIVED_MS = 1_000;

/**
 * What was handed over longer ago may have been attempted since, and be forgotten: it is read from PostgreSQL. Messages wait for as long as the
 * broker's alarms last. Less than {@link REMEMBERED_MS}, by what a statement and a message take.
 */
const HANDED_OVER_MS = REMEMBERED_MS - 5_000;

/** What is left to PostgreSQL is not read again before this time. */
const LEFT_MS = 60_000;

/**
 * So many attempts begin in one turn of the event loop. A handshake takes a millisecond of the processor: what has begun gets on before more
 * begins, and so do heartbeats, and whoever answers at once.
 */
const BEGIN_IN_TURN = 16;

/** A timer is never longer: what is due later is found by a sweep. */
const MAX_TIMER_MS = 60_000;

export function createOwner(parts: Parts, options: OwnerOptions): Owner {
  const { clock, metrics, quarantine, shards, mayBegin, isWriting, readBacklog, readConfiguration, isHealthPending } =
    parts;
  const { serve } = parts;
  const { epochOf } = shards;
  const { concurrency, ratePerSecond, bounds } = options;
  const known = createKnownDeliveries(() => performance.now());
  const atHand = createAtHand(known, bounds.bodiesBytes);
  const newRate = () => (ratePerSecond ? createRate(clock, ratePerSecond) : undefined);
  const endpoints = createEndpoints(newRate, (endpoint) => {
    for (const speed of SPEEDS) turns[speed].remove(endpoint);
    withRows.remove(endpoint);
    waitingForBytes.delete(endpoint);
    if (!endpoint.reading) giveBack(endpoint);
    for (const delivery of suspects.drop(endpoint)) known.forget(delivery);
    atHand.drop(endpoint);
  });
  const permits = createPermits(bounds.inFlight);
  const latencies = createLatencies();
  const bytes = createByteBudget(bounds.bodiesBytes);
  const turns = {
    answering: createTurns<OwnedEndpoint>(),
    quick: createTurns<OwnedEndpoint>(),
    slow: createTurns<OwnedEndpoint>(),
  };
  /** Endpoints whose rows were read, and that have permits for them. */
  const withRows = createTurns<OwnedEndpoint>();
  /** Endpoints whose next body waits for bytes. */
  const waitingForBytes = new Set<OwnedEndpoint>();
  const suspects = createSuspects({ hasRoom: (endpoint) => roomOf(endpoint) > 0, offer });
  const inFlight = new Map<number, number>();
  const serving = new Set<Promise<void>>();
  let scheduled = false;
  /** Attempts that have begun in this turn of the event loop. */
  let begun = 0;

  const nowMs = () => clock.now().getTime();

  /** Of which an attempt hangs is slow, whatever it was until now. */
  const speedOf = ({ id, slowInFlight }: OwnedEndpoint): Speed => (slowInFlight > 0 ? "slow" : latencies.speedOf(id));

  const isAtHand = (endpoint: OwnedEndpoint) => endpoint.ready.length > 0 || suspects.hasNext(endpoint);
  const hasWork = (endpoint: OwnedEndpoint) => isAtHand(endpoint) || (endpoint.hasMore && !endpoint.reading);

  const isOurs = (endpointId: string) => epochOf(shardOf(endpointId)) !== undefined;

  /** How many attempts it may have at once. Of an endpoint whose health is not known, one finds it out. */
  const limitOf = ({ breaker }: OwnedEndpoint) => Math.min(concurrency, breaker?.limit() ?? 1);

  /** Whether the endpoint itself takes no more. Of one whose health is not known, that is not its receiver's doing. */
  const isFull = (endpoint: OwnedEndpoint) =>
    (endpoint.rate?.waitMs() ?? 0) > 0 ||
    (endpoint.breaker !== undefined && limitOf(endpoint) <= endpoint.inFlight + endpoint.reserved.length);

  /** How many attempts the endpoint's own limits leave to it. */
  function roomOf(endpoint: OwnedEndpoint): number {
    const { rate, restUntilMs, shard, id } = endpoint;
    if (endpoint.isGone || !mayBegin() || epochOf(shard) === undefined) return 0;
    if (quarantine.has(id) || restUntilMs > nowMs()) return 0;
    if (rate !== undefined && rate.waitMs() > 0) return 0;
    return Math.max(0, limitOf(endpoint) - endpoint.inFlight - endpoint.reserved.length);
  }

  /** Lets an endpoint wait for its turn, if it has work and its own limits leave room; else sets its timer. */
  function offer(endpoint: OwnedEndpoint): void {
    if (endpoint.isGone) return;
    const room = hasWork(endpoint) ? roomOf(endpoint) : 0;
    if (room === 0) {
      setTimer(endpoint);
      return;
    }
    // For fewer, a statement is not worth it while an attempt ends soon, or turns slow: either comes back to it.
    const endsSoon = endpoint.inFlight > endpoint.slowInFlight;
    const isFresh = endpoint.reserved.length === 0;
    if (!isAtHand(endpoint) && isFresh && endsSoon && 2 * room < limitOf(endpoint)) return;
    turns[speedOf(endpoint)].add(endpoint);
    schedule();
  }

  function setTimer(endpoint: OwnedEndpoint): void {
    clearTimeout(endpoint.timer);
    const now = nowMs();
    const waits: number[] = [];
    if (endpoint.nextDueMs !== undefined) waits.push(endpoint.nextDueMs - now);
    if (hasWork(endpoint)) {
      const { breaker, rate, restUntilMs } = endpoint;
      if (isFull(endpoint)) endpoint.fullAtMs = now;
      if (restUntilMs > now) waits.push(restUntilMs - now);
      if (breaker?.isOpenForGood()) waits.push(LOOK_AGAIN_MS);
      else if (breaker && breaker.waitMs() > 0) waits.push(breaker.waitMs());
      const tokenMs = rate?.waitMs() ?? 0;
      if (tokenMs > 0) waits.push(tokenMs);
    }
    if (waits.length === 0) return;
    const waitMs = Math.min(MAX_TIMER_MS, Math.max(1, Math.ceil(Math.min(...waits))));
    endpoint.timer = setTimeout(() => {
      if (endpoint.breaker?.isOpenForGood()) void refresh(endpoint);
      lookForRetries(endpoint);
      offer(endpoint);
    }, waitMs);
    endpoint.timer.unref();
  }

  /** Reads how the endpoint is configured now, though no attempt asks for it. */
  async function refresh(endpoint: OwnedEndpoint): Promise<void> {
    const wasPending = isHealthPending(endpoint.id);
    const current = await readConfiguration(endpoint.id).catch(() => undefined);
    if (endpoint.isGone) return;
    configured(endpoint, current);
    // It is enabled, and its failures are all written: what they say is older than that.
    if (current && !wasPending && endpoint.breaker?.isOpenForGood()) endpoint.breaker.reset(current.configuration);
    offer(endpoint);
  }

  function lookForRetries(endpoint: OwnedEndpoint): void {
    if (endpoint.nextDueMs === undefined || endpoint.nextDueMs > nowMs()) return;
    endpoint.nextDueMs = undefined;
    wantMore(endpoint);
  }

  function expectDue(endpoint: OwnedEndpoint, dueAt: Date): void {
    endpoint.nextDueMs = Math.min(endpoint.nextDueMs ?? Number.POSITIVE_INFINITY, dueAt.getTime());
  }

  function wantMore(endpoint: OwnedEndpoint): void {
    endpoint.hasMore = true;
    endpoint.again ||= endpoint.reading;
  }

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    // After this turn of the event loop, so that one statement serves all endpoints that have work by then.
    setImmediate(run);
  }

  /** Gives turns until no permit is free for anybody who waits, or enough have begun. Endpoints of each speed take turns as well. */
  function run(): void {
    scheduled = false;
    begun = 0;
    const wanting = new Set<OwnedEndpoint>();
    for (let isOver = false; !isOver; ) {
      if (begun >= BEGIN_IN_TURN) {
        schedule();
        break;
      }
      isOver = true;
      const endpoint = withRows.next();
      if (endpoint !== undefined) {
        isOver = false;
        beginOfRows(endpoint);
      }
      for (const speed of SPEEDS) {
        if (!permits.mayTake(speed)) continue;
        const endpoint = turns[speed].next();
        if (endpoint === undefined) continue;
        isOver = false;
        // It may have another speed since it came.
        if (speedOf(endpoint) === speed) takeTurn(endpoint, wanting);
        else offer(endpoint);
      }
    }
    for (const endpoint of wanting) void read(endpoint);
  }

  function takeTurn(endpoint: OwnedEndpoint, wanting: Set<OwnedEndpoint>): void {
    if (roomOf(endpoint) === 0) {
      setTimer(endpoint);
      return;
    }
    const suspect = suspects.hasNext(endpoint) && suspects.next(endpoint);
    if (suspect) atHand.put(endpoint, [suspect], "first");
    if (endpoint.ready.length > 0) {
      if (!begin(endpoint)) return;
    } else if (endpoint.hasMore && !endpoint.reading) {
      endpoint.reserved.push(permits.take(speedOf(endpoint)));
      wanting.add(endpoint);
    }
    offer(endpoint);
  }

  function beginOfRows(endpoint: OwnedEndpoint): void {
    const permit = endpoint.reserved.pop();
    const isBegun = permit !== undefined && roomOf(endpoint) > 0 && begin(endpoint, permit);
    if (isBegun && endpoint.reserved.length > 0) {
      withRows.add(endpoint);
      return;
    }
    if (!isBegun) permit?.settled();
    giveBack(endpoint);
    offer(endpoint);
  }

  function giveBack(endpoint: OwnedEndpoint): void {
    for (const permit of endpoint.reserved.splice(0)) permit.settled();
  }

  /** Begins the attempt of the first delivery at hand. Returns false where its endpoint waits for something else. */
  function begin(endpoint: OwnedEndpoint, permit?: Permit): boolean {
    const [delivery] = endpoint.ready;
    if (delivery === undefined) return false;
    if (delivery.arrived && nowMs() - delivery.dueAt.getTime() > ARRIVED_MS) {
      atHand.take(endpoint);
      leave(endpoint, delivery);
      permit?.settled();
      return true;
    }
    if (suspects.mustWait(delivery)) {
      atHand.take(endpoint);
      suspects.wait(endpoint, delivery);
      permit?.settled();
      return true;
    }
    if (!takeBytes(endpoint, delivery)) {
      waitingForBytes.add(endpoint);
      permit?.settled();
      return false;
    }
    atHand.take(endpoint);
    endpoint.breaker?.begin();
    endpoint.rate?.take();
    void start(endpoint, delivery, permit ?? permits.take(speedOf(endpoint)), "due");
    return true;
  }

  /** Small bodies came with their rows, and are bounded by the number of attempts. */
  function takeBytes({ organizationId }: OwnedEndpoint, { body, bodyBytes }: Delivery): boolean {
    if (body !== null) return true;
    const othersWait = [...waitingForBytes].some((other) => other.organizationId !== organizationId);
    return bytes.take(organizationId, bodyBytes, othersWait);
  }

  function start(endpoint: OwnedEndpoint, delivery: Delivery, permit: Permit, source: Source): Promise<Served> {
    const { shard } = endpoint;
    const isHarmless = suspects.begin(delivery);
    begun++;
    let isOver = false;
    let isSlow = false;
    endpoint.inFlight++;
    inFlight.set(shard, (inFlight.get(shard) ?? 0) + 1);
    const settled = metrics.begin(source);
    const slow = setTimeout(() => {
      endpoint.slowInFlight++;
      isSlow = true;
      permit.slow();
      // One that is only slow holds up no other.
      isHarmless();
      offer(endpoint);
      schedule();
    }, SLOW_MS);

    function over(durationMs?: number): void {
      if (isOver) return;
      isOver = true;
      clearTimeout(slow);
      if (durationMs !== undefined) latencies.took(endpoint.id, durationMs);
      permit.ended();
      endpoint.inFlight--;
      if (isSlow) endpoint.slowInFlight--;
      offer(endpoint);
    }

    const configuration = () => configurationOf(endpoint);
    const waitedForReceiver = delivery.createdAt.getTime() <= Math.max(endpoint.fullAtMs, endpoint.changedAtMs);
    const served = serve({ endpoint, delivery, manual: source === "manual", waitedForReceiver, configuration, over });
    const done = served.then((outcome) => {
      over();
      permit.settled();
      settled();
      serving.delete(done);
      isHarmless();
      if (delivery.body === null) giveBytes(endpoint, delivery);
      after(endpoint, delivery, outcome);
      const left = (inFlight.get(shard) ?? 1) - 1;
      if (left > 0) inFlight.set(shard, left);
      else {
        inFlight.delete(shard);
        shards.becameIdle(shard);
      }
      schedule();
    });
    serving.add(done);
    return served;
  }

  /** What follows for an endpoint from an attempt that is settled, or was none. */
  function after(endpoint: OwnedEndpoint, delivery: Delivery, outcome: Served): void {
    if (outcome.kind === "settled") {
      known.ended(delivery);
      if (outcome.nextAttemptAt) expectDue(endpoint, outcome.nextAttemptAt);
      lookForRetries(endpoint);
    } else if (outcome.kind === "unsure") {
      leave(endpoint, delivery);
    } else if (outcome.kind === "left") {
      setTimeout(() => known.forget(delivery), LEFT_MS).unref();
    } else if (outcome.kind === "put back" && !endpoint.isGone) {
      endpoint.restUntilMs = Math.max(endpoint.restUntilMs, nowMs() + outcome.restMs);
      atHand.put(endpoint, [delivery], "first");
    } else {
      known.forget(delivery);
    }
    offer(endpoint);
  }

  /** Leaves a delivery to the publisher's statement, which may have stored it already, or will. */
  function leave(endpoint: OwnedEndpoint, delivery: Delivery): void {
    known.forget(delivery);
    wantMore(endpoint);
  }

  function giveBytes({ organizationId }: OwnedEndpoint, { bodyBytes }: Delivery): void {
    bytes.release(organizationId, bodyBytes);
    const waiting = [...waitingForBytes];
    waitingForBytes.clear();
    for (const endpoint of waiting) offer(endpoint);
  }

  /**
   * Reads rows for the permits that are reserved; of a quick endpoint some more, which are at hand when the first ones have ended. From the
   * beginning, the first rows may be those in flight, which are no news.
   */
  async function read(endpoint: OwnedEndpoint): Promise<void> {
    const { id, shard, mark } = endpoint;
    const epoch = epochOf(shard);
    const ahead = speedOf(endpoint) !== "slow" && !atHand.isFull() ? concurrency : 0;
    const noNews = endpoint.cursor === BEGINNING ? endpoint.inFlight : 0;
    const count = endpoint.reserved.length + ahead + noNews;
    endpoint.reading = true;
    endpoint.again = false;
    const demand: BacklogDemand = {
      endpointId: id,
      shard,
      epoch: epoch ?? -1,
      count,
      after: endpoint.cursor,
      mark,
      isKnown: known.has,
    };
    // Where it is refused, the next sweep comes back to the endpoint.
    const page = await readBacklog(demand).catch(() => ({ rows: [], deliveries: [] }));
    endpoint.reading = false;
    if (endpoint.isGone) {
      giveBack(endpoint);
      return;
    }
    endpoint.mark &&= demand.mark;
    const due = page.rows.filter((row) => row.dueAt.getTime() <= nowMs());
    const future = page.rows[due.length];
    const isAll = due.length < count;
    endpoint.hasMore = !isAll || endpoint.again;
    endpoint.cursor = (isAll ? undefined : due.at(-1)) ?? BEGINNING;
    if (future) expectDue(endpoint, future.dueAt);
    const fresh = page.deliveries.filter((delivery) => !known.has(delivery));
    for (const delivery of fresh) known.add(delivery);
    atHand.put(endpoint, fresh);
    // Behind a backlog they are read in their turn.
    if (isAll) {
      for (const delivery of endpoint.stash) if (!endpoint.hasMore) keep(endpoint, delivery);
    }
    endpoint.stash = [];
    withRows.add(endpoint);
    schedule();
  }

  /** Keeps a new delivery at hand, or leaves it to PostgreSQL. */
  function keep(endpoint: OwnedEndpoint, delivery: Delivery): void {
    const kept = atHand.keep(endpoint, delivery);
    if (kept === "left") endpoint.hasMore = true;
    if (kept !== "known") metrics.handedOver.inc({ result: kept });
  }

  function configured(endpoint: OwnedEndpoint, current: TimedConfiguration | undefined): void {
    if (current === undefined) {
      if (!endpoint.isGone) endpoints.drop(endpoint);
      return;
    }
    const { configuration, configuredAt } = current;
    const isChanged =
      endpoint.configuration !== undefined && endpoint.configuration.revision !== configuration.revision;
    endpoint.breaker ??= createBreaker(clock, options.breaker, configuration);
    if (isChanged) endpoint.breaker.reset(configuration);
    endpoint.configuration = configuration;
    endpoint.configuredAtMs = configuredAt.getTime();
  }

  function configurationOf(endpoint: OwnedEndpoint): Promise<Configuration | undefined> | Configuration {
    const { configuration, configuredAtMs, changedAtMs } = endpoint;
    const isCurrent = configuredAtMs >= changedAtMs && nowMs() - configuredAtMs <= CONFIGURATION_MS;
    if (configuration && isCurrent) return configuration;
    return readConfiguration(endpoint.id).then((current) => {
      configured(endpoint, current);
      return current && configurationOf(endpoint);
    });
  }

  /**
   * Whether a delivery of an event that has only arrived may be attempted. Where anything is unusual, the publisher's statement comes first: it
   * knows whether the endpoint gets the event, and whether it had it before. An owner of a few seconds can't know what the one before it sent.
   */
  function mayComeFirst({ shard, breaker, hasMore }: OwnedEndpoint): boolean {
    if (!breaker?.isHealthy() || hasMore) return false;
    return isWriting() && mayBegin() && shards.ownedMs(shard) >= options.newOwnerMs;
  }

  return {
    handedOver({ stored, events, deliveries, work }) {
      const offered = new Set<OwnedEndpoint>();
      for (const { deliveryId, endpointId, organizationId, revision, readAtUtc, event } of deliveries) {
        const content = events[event];
        if (content === undefined || !isOurs(endpointId)) continue;
        const endpoint = endpoints.of(endpointId, organizationId);
        const readAtMs = Date.parse(readAtUtc);
        const isSame = String(endpoint.configuration?.revision) === revision;
        if (isSame) endpoint.configuredAtMs = Math.max(endpoint.configuredAtMs, readAtMs);
        else if (stored) endpoint.configuredAtMs = Number.NEGATIVE_INFINITY;
        if (!stored && !(isSame && mayComeFirst(endpoint))) continue;
        if (stored && nowMs() - readAtMs > HANDED_OVER_MS) {
          wantMore(endpoint);
          offered.add(endpoint);
          continue;
        }
        const { eventType, body, traceparent, key: eventKey } = content;
        const receivedAt = new Date(content.receivedAtUtc);
        const delivery: Delivery = {
          deliveryId,
          endpointId,
          organizationId,
          eventType,
          body,
          bodyBytes: Buffer.byteLength(body),
          traceparent,
          eventKey,
          dueAt: receivedAt,
          createdAt: receivedAt,
          attempts: 0,
          interruptions: 0,
          arrived: stored ? undefined : { revision },
        };
        if (stored) known.stored(delivery);
        if (endpoint.reading && endpoint.stash.length < MAX_READY) endpoint.stash.push(delivery);
        else if (endpoint.reading) endpoint.again = true;
        // Behind a backlog it is read in its turn.
        else if (!endpoint.hasMore) keep(endpoint, delivery);
        offered.add(endpoint);
      }
      for (const { endpointId, organizationId } of work) {
        if (!isOurs(endpointId)) continue;
        const endpoint = endpoints.of(endpointId, organizationId);
        wantMore(endpoint);
        offered.add(endpoint);
      }
      for (const endpoint of offered) offer(endpoint);
    },
    changed({ endpointId, organizationId }) {
      if (!isOurs(endpointId)) return;
      const endpoint = endpoints.of(endpointId, organizationId);
      endpoint.changedAtMs = nowMs();
      // It may have been resumed: then it need not rest any more.
      wantMore(endpoint);
      void refresh(endpoint);
    },
    found(found, { crashed }) {
      for (const { endpointId, organizationId, dueAt, revision, failures, pausedUntil } of found) {
        if (!isOurs(endpointId)) continue;
        if (endpoints.isFull() && !endpoints.has(endpointId)) continue;
        const endpoint = endpoints.of(endpointId, organizationId);
        endpoint.breaker ??= createBreaker(clock, options.breaker, { failures, pausedUntil });
        endpoint.mark ||= crashed.has(endpoint.shard);
        // The message that told of its change was lost.
        const { configuration } = endpoint;
        if (configuration && configuration.revision !== revision) void refresh(endpoint);
        const isDue = dueAt.getTime() <= nowMs();
        if (!isDue) expectDue(endpoint, dueAt);
        // It may be in flight. Another one behind it may not, and would wait for its end, which can be long where a receiver hangs.
        else wantMore(endpoint);
        lookForRetries(endpoint);
        // Rows may have been stored behind the cursor, by a statement that took long.
        if (!endpoint.reading) endpoint.cursor = BEGINNING;
        offer(endpoint);
      }
    },
    manual(delivery, isWithinCaps) {
      const { endpointId, organizationId } = delivery;
      if (known.has(delivery) || !isOurs(endpointId)) return undefined;
      const endpoint = endpoints.of(endpointId, organizationId);
      known.add(delivery);
      const mayStart = isWithinCaps && mayBegin() && permits.mayTake("answering");
      if (!mayStart || quarantine.has(endpointId) || !takeBytes(endpoint, delivery)) {
        atHand.put(endpoint, [delivery]);
        offer(endpoint);
        return undefined;
      }
      endpoint.rate?.take();
      return start(endpoint, delivery, permits.take(speedOf(endpoint)), "manual");
    },
    lost(shards) {
      const gone = new Set(shards);
      for (const endpoint of endpoints.all()) if (gone.has(endpoint.shard)) endpoints.drop(endpoint);
    },
    wake() {
      for (const endpoint of endpoints.all()) {
        lookForRetries(endpoint);
        offer(endpoint);
      }
    },
    inFlightOf: (shard) => inFlight.get(shard) ?? 0,
    async idle() {
      while (serving.size > 0) await Promise.all(serving);
    },
  };
}
