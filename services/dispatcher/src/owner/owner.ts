import { ARRIVAL } from "@herald/common/broker/arrival";
import { shardOf } from "@herald/common/database/shards";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
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
import { createAtHand, createKnownDeliveries } from "./at-hand.ts";
import type { BacklogDemand, BacklogPage } from "./backlog.ts";
import { createEndpoints, type OwnedEndpoint } from "./endpoint.ts";
import type { Quarantine } from "./quarantine.ts";
import type { Begun, Served } from "./serve.ts";

interface Parts {
  clock: Clock;
  metrics: Pick<DispatcherMetrics, "begin" | "handedOver">;
  quarantine: Pick<Quarantine, "has">;
  /** No retry is later: a row that is was written before PostgreSQL's clock was set back, and is due. */
  latestDue: (now: Date) => Date;
  shards: Pick<Shards, "epochOf" | "ownedMs" | "becameIdle">;
  /** Whether attempts may begin at all. */
  mayBegin: () => boolean;
  readBacklog: (demand: BacklogDemand) => Promise<BacklogPage>;
  /** The current configuration of an endpoint; undefined if it is disabled or deleted. Rejects only at the end of the process. */
  readConfiguration: (endpointId: string) => Promise<TimedConfiguration | undefined>;
  /** Whether results of the endpoint are not in its stored health yet. */
  isHealthPending: (endpointId: string) => boolean;
  /** Whether PostgreSQL takes results now. */
  isWriting: () => boolean;
  /** Makes an attempt and settles it; never rejects. */
  serve: (begun: Begun) => Promise<Served>;
  log: Pick<Log, "error">;
}

export interface OwnerOptions {
  /** Attempts that an endpoint may have at once. */
  concurrency: number;
  /** Attempts a second to an endpoint; no limit if absent. */
  ratePerSecond: number | undefined;
  /** A new owner of a shard attempts nothing there on arrival for this time. */
  newOwnerMs: number;
  breaker: BreakerOptions;
  bounds: { inFlight: number; bodiesBytes: number };
}

export type Owner = ReturnType<typeof createOwner>;

/** PostgreSQL is asked this often whether an endpoint is disabled that failed as often as disables it. */
const LOOK_AGAIN_MS = 1_000;

/**
 * Attempts that begin in one turn of the event loop. A handshake takes a millisecond of CPU: so attempts under way, heartbeats, and receivers that
 * answer at once get on before more attempts begin.
 */
const BEGIN_IN_TURN = 16;

/** A configuration that was read longer ago is read again before an attempt. */
const CONFIGURATION_MS = 500;

/** A timer is never longer: a sweep finds what is due later. */
const MAX_TIMER_MS = 60_000;

/**
 * The endpoints of this dispatcher's shards. It alone makes their attempts, so it knows what is in flight, what was handed over, whether PostgreSQL
 * has more, when the next retry is due, and the health of each endpoint. It writes none of that down: if it forgets something, or its successor needs
 * it, PostgreSQL has it.
 */
export function createOwner(parts: Parts, options: OwnerOptions) {
  const { clock, metrics, quarantine, shards, mayBegin, isWriting, readBacklog, readConfiguration, isHealthPending } =
    parts;
  const { latestDue, serve, log } = parts;
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
  const inFlight = new Map<number, number>();
  const serving = new Set<Promise<void>>();
  let scheduled = false;
  /** Attempts that have begun in this turn of the event loop. */
  let begun = 0;

  const nowMs = () => clock.now().getTime();

  const isDue = ({ dueAt }: { dueAt: Date }) => dueAt.getTime() <= nowMs() || dueAt > latestDue(clock.now());

  /** An endpoint with a hanging attempt counts as slow. */
  const speedOf = ({ id, slowInFlight }: OwnedEndpoint): Speed => (slowInFlight > 0 ? "slow" : latencies.speedOf(id));

  const hasWork = ({ ready, hasMore, reading }: OwnedEndpoint) => ready.length > 0 || (hasMore && !reading);

  const isOurs = (endpointId: string) => epochOf(shardOf(endpointId)) !== undefined;

  /** Attempts that the endpoint may have at once. If its health is not known, a single attempt finds it out. */
  const limitOf = ({ breaker }: OwnedEndpoint) => Math.min(concurrency, breaker?.limit() ?? 1);

  /** Whether the endpoint itself takes no more. An endpoint whose health is unknown is never full. */
  const isFull = (endpoint: OwnedEndpoint) =>
    (endpoint.rate?.waitMs() ?? 0) > 0 ||
    (endpoint.breaker !== undefined && limitOf(endpoint) <= endpoint.inFlight + endpoint.reserved.length);

  /** Attempts that the endpoint's own limits leave. */
  function roomOf(endpoint: OwnedEndpoint): number {
    const { rate, restUntilMs, shard, id } = endpoint;
    if (endpoint.isGone || !mayBegin() || epochOf(shard) === undefined) return 0;
    if (quarantine.has(id) || restUntilMs > performance.now()) return 0;
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
    // Do not read rows for a few free places while a quick attempt is in flight: when it ends or becomes slow, one statement reads more of them.
    const endsSoon = endpoint.inFlight > endpoint.slowInFlight;
    const isFresh = endpoint.reserved.length === 0;
    if (endpoint.ready.length === 0 && isFresh && endsSoon && 2 * room < limitOf(endpoint)) return;
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
      if (restUntilMs > performance.now()) waits.push(restUntilMs - performance.now());
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

  /** Reads the endpoint's configuration, though no attempt asks for it. */
  async function refresh(endpoint: OwnedEndpoint): Promise<void> {
    const wasPending = isHealthPending(endpoint.id);
    const current = await readConfiguration(endpoint.id).catch(() => undefined);
    if (endpoint.isGone) return;
    configured(endpoint, current);
    // PostgreSQL has all failures and still says enabled: the endpoint was resumed, or the setting is new.
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

  /** Gives turns until no permit is free for a waiting endpoint, or enough attempts have begun. Endpoints of each speed take turns as well. */
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
        // Its speed may have changed while it waited.
        if (speedOf(endpoint) === speed) takeTurn(endpoint, wanting);
        else offer(endpoint);
      }
    }
    for (const endpoint of wanting) {
      read(endpoint).catch((error) => {
        giveBack(endpoint);
        failed(endpoint.id, error);
      });
    }
  }

  /** An error in one endpoint ends neither the process nor the work of the others. The next sweep finds the endpoint again. */
  function failed(endpointId: string, error: unknown): void {
    log.error("an endpoint's deliveries can't be handled now; a sweep comes back to them", { endpointId, error });
  }

  function takeTurn(endpoint: OwnedEndpoint, wanting: Set<OwnedEndpoint>): void {
    if (roomOf(endpoint) === 0) {
      setTimer(endpoint);
      return;
    }
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

  /** Begins the attempt of the first delivery in memory. Returns false if its endpoint waits for bytes. */
  function begin(endpoint: OwnedEndpoint, permit?: Permit): boolean {
    const [delivery] = endpoint.ready;
    if (delivery === undefined) return false;
    if (delivery.arrived && nowMs() - delivery.dueAt.getTime() > ARRIVAL.unstoredMs) {
      atHand.take(endpoint);
      leave(endpoint, delivery);
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

  /** Updates an endpoint after an attempt that is settled, or was not made. */
  function after(endpoint: OwnedEndpoint, delivery: Delivery, outcome: Served): void {
    if (outcome.kind === "settled") {
      known.ended(delivery);
      if (outcome.nextAttemptAt) expectDue(endpoint, outcome.nextAttemptAt);
      lookForRetries(endpoint);
    } else if (outcome.kind === "unsure") {
      leave(endpoint, delivery);
    } else if (outcome.kind === "left") {
      const again = () => {
        leave(endpoint, delivery);
        offer(endpoint);
      };
      setTimeout(again, outcome.forMs).unref();
    } else if (outcome.kind === "put back" && !endpoint.isGone) {
      endpoint.restUntilMs = Math.max(endpoint.restUntilMs, performance.now() + outcome.restMs);
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
   * Reads one row for each reserved permit. For an endpoint that is not slow, it also reads rows ahead, so that they are in memory when the first
   * attempts end. If it reads from the beginning, the first rows may be those of attempts in flight, so it reads as many more.
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
      isWanted: (row) => isDue(row) && !known.has(row),
    };
    // If PostgreSQL refuses it, the next sweep comes back to the endpoint.
    const page = await readBacklog(demand).catch(() => ({ rows: [], deliveries: [] }));
    endpoint.reading = false;
    if (endpoint.isGone) {
      giveBack(endpoint);
      return;
    }
    endpoint.mark &&= demand.mark;
    const due = page.rows.filter(isDue);
    const future = page.rows.find((row) => !isDue(row));
    const isAll = due.length < count;
    endpoint.hasMore = !isAll || endpoint.again;
    endpoint.cursor = (isAll ? undefined : due.at(-1)) ?? BEGINNING;
    if (future) expectDue(endpoint, future.dueAt);
    const fresh = page.deliveries.filter((delivery) => !known.has(delivery));
    for (const delivery of fresh) known.add(delivery);
    atHand.put(endpoint, fresh);
    withRows.add(endpoint);
    schedule();
  }

  /** Keeps a new delivery in memory, or leaves it to PostgreSQL. */
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
    const isCurrent = configuredAtMs >= changedAtMs && Math.abs(nowMs() - configuredAtMs) <= CONFIGURATION_MS;
    if (configuration && isCurrent) return configuration;
    // If PostgreSQL's clock was set back since, no reading would ever be late enough.
    endpoint.changedAtMs = Math.min(changedAtMs, nowMs());
    return readConfiguration(endpoint.id).then((current) => {
      configured(endpoint, current);
      return current && configurationOf(endpoint);
    });
  }

  /**
   * Whether a delivery may be attempted whose event is not stored yet. If anything is unusual, the publisher's statement comes first: it knows
   * whether the endpoint gets the event, and whether it had it before. An owner of a few seconds can't know what the owner before it sent.
   */
  function mayComeFirst({ shard, breaker, hasMore }: OwnedEndpoint): boolean {
    if (!breaker?.isHealthy() || hasMore) return false;
    return isWriting() && mayBegin() && shards.ownedMs(shard) >= options.newOwnerMs;
  }

  /** Takes up an endpoint that a sweep has found. */
  function hasWorkNow(found: EndpointWithWork, crashed: ReadonlySet<number>): void {
    const { endpointId, organizationId, revision, failures, pausedUntil } = found;
    if (!isOurs(endpointId)) return;
    const endpoint = endpoints.of(endpointId, organizationId);
    endpoint.breaker ??= createBreaker(clock, options.breaker, { failures, pausedUntil });
    endpoint.mark ||= crashed.has(endpoint.shard);
    // The message about its change was lost.
    const { configuration } = endpoint;
    if (configuration && configuration.revision !== revision) void refresh(endpoint);
    if (!isDue(found)) expectDue(endpoint, found.dueAt);
    // The due row may be in flight already; look for others behind it instead of waiting for it.
    else wantMore(endpoint);
    lookForRetries(endpoint);
    // A slow statement may have stored rows behind the cursor.
    if (!endpoint.reading) endpoint.cursor = BEGINNING;
    offer(endpoint);
  }

  return {
    /** A publisher has stored these deliveries, or will in a moment. */
    handedOver({ stored, events, deliveries, work }: HandOver) {
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
        if (stored && nowMs() - readAtMs > ARRIVAL.handedOverMs) {
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
          handedOver: true,
          arrived: stored ? undefined : { revision },
        };
        if (stored) known.stored(delivery);
        if (endpoint.reading) endpoint.again = true;
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
    /** The management API has changed an endpoint, or deleted it. */
    changed({ endpointId, organizationId }: EndpointChanged) {
      if (!isOurs(endpointId)) return;
      const endpoint = endpoints.of(endpointId, organizationId);
      endpoint.changedAtMs = nowMs();
      // It may have been resumed: then it does not rest any more.
      wantMore(endpoint);
      void refresh(endpoint);
    },
    /** A sweep has found these endpoints to have work. */
    found(found: readonly EndpointWithWork[], { crashed }: { crashed: ReadonlySet<number> }) {
      for (const endpoint of found) {
        try {
          hasWorkNow(endpoint, crashed);
        } catch (error) {
          failed(endpoint.endpointId, error);
        }
      }
    },
    /**
     * Attempts a manual delivery at once, or puts it in the line of its endpoint.
     *
     * @returns the outcome of the attempt; undefined if the delivery has to wait
     */
    manual(delivery: Delivery, isWithinCaps: boolean): Promise<Served> | undefined {
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
    lost(shards: readonly number[]) {
      const gone = new Set(shards);
      for (const endpoint of endpoints.all()) if (gone.has(endpoint.shard)) endpoints.drop(endpoint);
    },
    /** Attempts may begin again after an outage or a time without PostgreSQL. */
    wake() {
      for (const endpoint of endpoints.all()) {
        lookForRetries(endpoint);
        offer(endpoint);
      }
    },
    /** Attempts of the shard that are not settled. */
    inFlightOf: (shard: number) => inFlight.get(shard) ?? 0,
    /** Resolves when nothing is in flight. */
    async idle() {
      while (serving.size > 0) await Promise.all(serving);
    },
  };
}
