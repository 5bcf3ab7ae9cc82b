import type { History, InjectedFault, ReceivedRequest, StoredDelivery } from "./history.ts";

/**
 * Faults that can part a dispatcher from the result of an attempt, so that the delivery comes due again. Its orderly end
 * (SIGTERM) is none of them: it settles what it has in flight.
 */
const PARTS_DISPATCHER = new Set(["kill", "crash-loop", "freeze", "frozen", "stood-still"]);
/** A dispatcher that stood still within an attempt puts it back if it timed out, and may have done so before the request came. */
const STANDS_STILL = new Set(["freeze", "frozen", "stood-still"]);
/** After these the database knows less than the receivers, or a dispatcher lost its shards before it had written a result. */
const OF_DATABASE = new Set(["postgres-crashed", "postgres-failed-over", "database-restored", "database-copied"]);
const PARTS_FROM_DATABASE = new Set(["cut", "stall", "silent-server", "silent-client"]);

function canRepeat({ kind, target, skipped }: InjectedFault): boolean {
  if (skipped !== undefined) return false;
  if (OF_DATABASE.has(kind)) return true;
  if (PARTS_DISPATCHER.has(kind)) return target.startsWith("dispatcher");
  return PARTS_FROM_DATABASE.has(kind) && /^dispatcher.*>postgres$/.test(target);
}

export const FAULTS_OF_NETWORK: ReadonlySet<string> = new Set(["resolver-dead", "no-route"]);
/** A dispatcher keeps what it has looked up for five seconds. */
export const ANSWER_KEPT_MS = 5_000;
/** Others take the shards of a dispatcher that was not heard of for six seconds. Its last heartbeat may be two seconds old. */
const MAY_LOSE_SHARDS_MS = 4_000;
/** From an answer until its result is stored, if PostgreSQL can be reached, on a machine that is not busy. */
const SETTLED_WITHIN_MS = 1_000;
/** On a busy machine an answer is read late, gathered with others, and written: each may wait as long as the run itself once stood still. */
const WAITS_UNTIL_SETTLED = 3;

/** A fault's effects begin a moment before what the run saw of them, and clocks are read a moment late. */
export const SLACK_MS = 250;

/** Attempts bear PostgreSQL's time, as exactly as round trips to it tell; receivers read the clock of the same machine themselves. */
export const CLOCK_SLACK_MS = 20;

/**
 * Names what made a delivery come once more though the receiver had accepted it, or was still at it; undefined if nothing
 * that happened between the two can have done so.
 */
export function explainRepeat(
  history: Timed,
  delivery: StoredDelivery | undefined,
  first: ReceivedRequest,
  second: ReceivedRequest,
): string | undefined {
  const fault = [...history.faults, ...history.standstills]
    .filter((each) => canRepeat(each) && each.from <= second.at && each.until >= beginOf(history, first, each))
    .sort((a, b) => Math.abs(a.from - first.at) - Math.abs(b.from - first.at))[0];
  if (fault) return fault.kind;
  if (cameTooLate(history, delivery, first)) return "late answer";
  // An answer that came too late for an attempt in an outage: such an attempt is put back, and is not in the history.
  return history.faults.find((each) => isOutageOf(history, first, each))?.kind;
}

type Timed = Pick<History, "faults" | "standstills" | "settings" | "stoodStillMs">;

/** The earliest moment at which the fault may have ended that did something to the attempt of this request. */
function beginOf({ settings, stoodStillMs }: Timed, { at, endedAt }: ReceivedRequest, { kind }: InjectedFault): number {
  const begunAt = STANDS_STILL.has(kind) ? Math.min(at, endedAt - settings.attemptTimeoutMs) : at;
  return begunAt - SLACK_MS - stoodStillMs;
}

/** Whether the attempt of this request may have begun in an outage of Herald's own network, which ends a moment after its fault. */
function isOutageOf(history: Timed, request: ReceivedRequest, fault: InjectedFault): boolean {
  if (fault.skipped !== undefined || !FAULTS_OF_NETWORK.has(fault.kind)) return false;
  return fault.from <= request.endedAt && fault.until + ANSWER_KEPT_MS >= beginOf(history, request, fault);
}

/**
 * Names what took the result of a request with it, so that no attempt of the history is of this request; undefined if nothing can have done so that
 * happened before the result was stored. A break of connections or a crash of PostgreSQL takes none, if it is short: the dispatcher waits, and writes.
 */
export function explainUnrecorded(history: Timed, request: ReceivedRequest): string | undefined {
  const { endedAt, outcome } = request;
  const { faults, standstills, stoodStillMs } = history;
  const happened = [...faults, ...standstills].filter(({ skipped }) => skipped === undefined);
  const withinMs = SETTLED_WITHIN_MS + WAITS_UNTIL_SETTLED * stoodStillMs;
  let settledBy = endedAt + withinMs;
  for (const fault of happened) {
    const delays = canRepeat(fault) && fault.from <= settledBy && fault.until >= endedAt;
    if (delays) settledBy = Math.max(settledBy, fault.until + withinMs);
  }
  return happened.find((fault) => {
    const { kind, from, until } = fault;
    if (from > settledBy) return false;
    const since = beginOf(history, request, fault);
    // What failed without an answer is put back in an outage.
    if (outcome === "unanswered" && isOutageOf(history, request, fault)) return true;
    if (!canRepeat(fault) || !(PARTS_DISPATCHER.has(kind) || until - from >= MAY_LOSE_SHARDS_MS)) return false;
    // The dead make no requests until they are started again.
    return (kind === "kill" ? from : until) >= since;
  })?.kind;
}

/** The receiver accepted it, and the sender had given up by then, or stood still and read the answer too late. */
function cameTooLate(
  { settings, stoodStillMs }: Timed,
  delivery: StoredDelivery | undefined,
  { at, endedAt }: ReceivedRequest,
): boolean {
  const attempt = delivery?.attempts
    .filter(({ startedAt }) => startedAt <= at + CLOCK_SLACK_MS)
    .sort((a, b) => b.startedAt - a.startedAt)[0];
  return (
    attempt?.failureKind === "timed_out" &&
    endedAt - (attempt?.startedAt ?? 0) >= settings.attemptTimeoutMs - SLACK_MS - stoodStillMs
  );
}
