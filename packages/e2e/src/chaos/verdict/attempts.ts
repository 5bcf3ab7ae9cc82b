import type { FailureKind } from "@herald/contracts";
import { countBy } from "../../statistics.ts";
import type {
  History,
  Index,
  InjectedFault,
  LoadedEndpoint,
  ReceivedRequest,
  StoredAttempt,
  StoredDelivery,
} from "./history.ts";

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

/** While these last, a dispatcher does not store some results. It tries again every two seconds. */
const HOLDS_RESULTS = new Set(["row-lock", "table-lock"]);
const TRIES_AGAIN_MS = 2_000;

function canRepeat({ kind, target }: InjectedFault): boolean {
  if (OF_DATABASE.has(kind)) return true;
  if (PARTS_DISPATCHER.has(kind)) return target.startsWith("dispatcher");
  return PARTS_FROM_DATABASE.has(kind) && /^dispatcher.*>postgres$/.test(target);
}

const FAULTS_OF_NETWORK: ReadonlySet<string> = new Set(["resolver-dead", "no-route"]);
/** A dispatcher keeps what it has looked up for five seconds. */
const ANSWER_KEPT_MS = 5_000;
/** Others take the shards of a dispatcher that was not heard of for six seconds. Its last heartbeat may be two seconds old. */
const MAY_LOSE_SHARDS_MS = 4_000;
/** From an answer until its result is stored, if PostgreSQL can be reached, on a machine that is not busy. */
const SETTLED_WITHIN_MS = 1_000;
/** On a busy machine an answer is read late, gathered with others, and written: each may wait as long as the run itself once stood still. */
const WAITS_UNTIL_SETTLED = 3;

/** A fault's effects begin a moment before what the run saw of them, and clocks are read a moment late. */
const SLACK_MS = 250;

/** Attempts bear PostgreSQL's time, as exactly as round trips to it tell; receivers read the clock of the same machine themselves. */
const CLOCK_SLACK_MS = 20;

/**
 * Names what made a delivery come once more though the receiver had accepted it, or was still at it; undefined if nothing
 * that happened between the two can have done so.
 */
function explainRepeat(
  history: Timed,
  delivery: StoredDelivery | undefined,
  first: ReceivedRequest,
  second: ReceivedRequest,
): string | undefined {
  const fault = happenedIn(history)
    .filter((each) => canRepeat(each) && each.from <= second.at && each.until >= beginOf(history, first, each))
    .sort((a, b) => Math.abs(a.from - first.at) - Math.abs(b.from - first.at))[0];
  if (fault) return fault.kind;
  if (cameTooLate(history, delivery, first)) return "late answer";
  // An answer that came too late for an attempt in an outage: such an attempt is put back, and is not in the history.
  return happenedIn(history).find((each) => isOutageOf(history, first, each))?.kind;
}

type Timed = Pick<History, "faults" | "standstills" | "settings" | "stoodStillMs">;

const happenedIn = ({ faults, standstills }: Timed): InjectedFault[] =>
  [...faults, ...standstills].filter(({ skipped }) => skipped === undefined);

/** The earliest moment at which the fault may have ended that did something to the attempt of this request. */
function beginOf({ settings, stoodStillMs }: Timed, { at, endedAt }: ReceivedRequest, { kind }: InjectedFault): number {
  const begunAt = STANDS_STILL.has(kind) ? Math.min(at, endedAt - settings.attemptTimeoutMs) : at;
  return begunAt - SLACK_MS - stoodStillMs;
}

/** Whether the attempt of this request may have begun in an outage of Herald's own network, which ends a moment after its fault. */
function isOutageOf(history: Timed, request: ReceivedRequest, fault: InjectedFault): boolean {
  if (!FAULTS_OF_NETWORK.has(fault.kind)) return false;
  return fault.from <= request.endedAt && fault.until + ANSWER_KEPT_MS >= beginOf(history, request, fault);
}

/**
 * Names what took the result of a request with it, so that no attempt of the history is of this request; undefined if nothing can have done so that
 * happened before the result was stored. A break of connections or a crash of PostgreSQL takes none, if it is short: the dispatcher waits, and writes.
 */
function explainUnrecorded(history: Timed, request: ReceivedRequest): string | undefined {
  const { endedAt, outcome } = request;
  const happened = happenedIn(history);
  const withinMs = SETTLED_WITHIN_MS + WAITS_UNTIL_SETTLED * history.stoodStillMs;
  let settledBy = endedAt + withinMs;
  for (const fault of happened) {
    const holds = HOLDS_RESULTS.has(fault.kind);
    const delays = (holds || canRepeat(fault)) && fault.from <= settledBy && fault.until >= endedAt;
    if (delays) settledBy = Math.max(settledBy, fault.until + withinMs + (holds ? TRIES_AGAIN_MS : 0));
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

/**
 * The receiver accepted it too late for its attempt, and its dispatcher, or the machine, stood still when the time was over: it read the answer first,
 * then the clock.
 */
export function wasReadLate(history: Timed, { at, endedAt, acceptedLate }: ReceivedRequest): boolean {
  if (!acceptedLate) return false;
  const overAt = at + history.settings.attemptTimeoutMs;
  if (history.stoodStillMs >= endedAt - overAt) return true;
  const slackMs = SLACK_MS + history.stoodStillMs;
  return happenedIn(history).some(
    ({ kind, target, from, until }) =>
      STANDS_STILL.has(kind) &&
      target.startsWith("dispatcher") &&
      from - slackMs <= overAt &&
      until + slackMs >= overAt,
  );
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

/**
 * Where few endpoints tell, Herald learns only after a moment that it is cut off, and a look-up that failed until then is an
 * attempt, as SPEC says. More than these of a delivery would not be a moment.
 */
const SPENT_BEFORE_KNOWN = 2;

/** Deliveries that were given up although their receivers did not fail all of their attempts. */
export function wronglyExhaustedOf(history: History, known: Index): string[] {
  const { deliveries, settings } = history;
  const found: string[] = [];
  for (const { id, endpointId, state, attempts, attemptCount } of deliveries) {
    if (state !== "exhausted") continue;
    const culprits = attempts.map((attempt) => culpritOf(history, known.endpoint(endpointId), attempt));
    const byNetwork = culprits.filter((culprit) => culprit === "network").length;
    const byReceiver = culprits.filter((culprit) => culprit === "receiver" || culprit === "restart").length;
    const failed = byReceiver + Math.min(byNetwork, SPENT_BEFORE_KNOWN);
    const kinds = attempts.map(({ failureKind }) => failureKind ?? "success").join(", ");
    if (attemptCount < settings.maxAttempts) found.push(`delivery ${id} was given up after ${attemptCount} attempts`);
    else if (failed < settings.maxAttempts) found.push(`delivery ${id} was given up after attempts with ${kinds}`);
    else if (!known.requestsOf(id).some(({ outcome }) => outcome !== "accepted"))
      found.push(`delivery ${id} was given up, and its receiver refused none of its requests (${kinds})`);
  }
  return found;
}

/** Deliveries whose history lacks an attempt that was counted. More than were counted are another matter. */
export function unrememberedOf({ deliveries }: History): string[] {
  return deliveries
    .filter(({ attempts, attemptCount }) => attempts.length < attemptCount)
    .map(({ id, attempts, attemptCount }) => {
      const numbers = attempts.map(({ number }) => number).join(", ");
      return `delivery ${id} has counted ${attemptCount} attempts, and its history has only number ${numbers}`;
    });
}

/** Deliveries with more attempts than they may have. */
export function tooManyOf({ deliveries, settings: { maxAttempts } }: History): string[] {
  const found: string[] = [];
  for (const { id, attemptCount, attempts } of deliveries) {
    if (attemptCount > maxAttempts) found.push(`delivery ${id} has counted ${attemptCount} attempts`);
    if (attempts.length > maxAttempts) found.push(`delivery ${id} has ${attempts.length} attempts in its history`);
  }
  return found;
}

/** Refused requests that no attempt of the history is of: counted by what took their results, and those that nothing explains. */
export function unrecordedOf(history: History, known: Index) {
  const explained: string[] = [];
  const unrecorded: string[] = [];
  for (const id of known.deliveryIds) {
    const delivery = known.delivery(id);
    if (!delivery) continue;
    const left = [...known.requestsOf(id)];
    for (const attempt of [...delivery.attempts].sort((a, b) => a.startedAt - b.startedAt)) {
      const take = () => {
        const index = left.findIndex(({ at }) => isWithin(attempt, at, SLACK_MS + history.stoodStillMs));
        return index < 0 ? undefined : left.splice(index, 1)[0];
      };
      // The same attempt sends it again at once on a fresh connection.
      if (take()?.resetWhenReused) take();
    }
    for (const request of left.filter(({ outcome }) => outcome !== "accepted")) {
      // A repeat of what had succeeded changes nothing any more. Whether something explains the repeat is another matter.
      const hadSucceeded = known.requestsOf(id).some(({ outcome, at }) => outcome === "accepted" && at < request.at);
      const isOver = delivery.state === "succeeded" && hadSucceeded;
      const reason = isOver ? "had succeeded" : explainUnrecorded(history, request);
      if (reason) explained.push(reason);
      else unrecorded.push(`delivery ${id} was ${request.outcome} at ${request.at}, and no attempt says so`);
    }
  }
  return { withoutAttempt: countBy(explained), unrecorded };
}

function isWithin({ startedAt, durationMs }: StoredAttempt, at: number, lateMs = 0): boolean {
  return at >= startedAt - CLOCK_SLACK_MS && at <= startedAt + durationMs + lateMs;
}

/** Attempts that count as failed, though their receivers accepted them well in time. */
export function blamedOf({ deliveries, settings, stoodStillMs }: History, known: Index): string[] {
  const inTimeMs = settings.attemptTimeoutMs - SLACK_MS - stoodStillMs;
  const found: string[] = [];
  for (const { id, attempts } of deliveries) {
    for (const attempt of attempts.filter(({ failureKind }) => failureKind !== null)) {
      const { number, startedAt, failureKind } = attempt;
      const request = known.requestsOf(id).find(({ at }) => isWithin(attempt, at));
      const afterMs = (request?.endedAt ?? 0) - startedAt;
      if (request?.outcome === "accepted" && afterMs < inTimeMs)
        found.push(`delivery ${id} was accepted after ${afterMs} ms, and its attempt ${number} is ${failureKind}`);
    }
  }
  return found;
}

/** Requests of deliveries that had been accepted before: counted by what explains them, and those that nothing explains. */
export function repeatsOf(history: History, known: Index) {
  const explained: string[] = [];
  const unexplainedDuplicates: string[] = [];
  for (const id of known.deliveryIds) {
    const requests = known.requestsOf(id);
    for (const [index, request] of requests.entries()) {
      const earlier = requests
        .slice(0, index)
        .findLast((each) => each.outcome === "accepted" || each.endedAt > request.at);
      if (!earlier) continue;
      const reason = explainRepeat(history, known.delivery(id), earlier, request);
      if (reason) explained.push(reason);
      else
        unexplainedDuplicates.push(
          `delivery ${id} came again ${request.at - earlier.at} ms after it was ${earlier.outcome}`,
        );
    }
  }
  return { duplicates: countBy(explained), unexplainedDuplicates };
}

/** Who made an attempt fail. */
export type Culprit =
  | "receiver"
  /** The receiver too, and only since it restarted. */
  | "restart"
  /** The network or the name server, for everybody. */
  | "network"
  | "herald";

/** Every receiver of a run has a good name and a good certificate: what fails otherwise failed on Herald's side. */
const KINDS_OF_RECEIVER: ReadonlySet<FailureKind | null> = new Set<FailureKind>([
  "http_status",
  "timed_out",
  "connection_reset",
  "response_invalid",
]);
const KINDS_OF_NETWORK: ReadonlySet<FailureKind | null> = new Set<FailureKind>([
  "resolver_failed",
  "unreachable",
  "connection_refused",
  "connection_timed_out",
]);
/** Characters that take whatever reaches them. */
const TAKES_ALL: ReadonlySet<string> = new Set(["steady", "paused", "restarting"]);

/** Says whose failure an attempt is; of one that succeeded it says nothing of use. */
export function culpritOf(
  { faults }: Pick<History, "faults">,
  endpoint: Pick<LoadedEndpoint, "id" | "character"> | undefined,
  { startedAt, durationMs, failureKind }: StoredAttempt,
): Culprit {
  const during = ({ from, until, skipped }: InjectedFault, lingersMs = 0) =>
    skipped === undefined && startedAt <= until + lingersMs + SLACK_MS && startedAt + durationMs >= from - SLACK_MS;
  if (faults.some((fault) => fault.kind === "receiver-restarts" && fault.target === endpoint?.id && during(fault)))
    return "restart";
  const isNetworkDown = faults.some((fault) => FAULTS_OF_NETWORK.has(fault.kind) && during(fault, ANSWER_KEPT_MS));
  if (isNetworkDown && KINDS_OF_NETWORK.has(failureKind)) return "network";
  if (!KINDS_OF_RECEIVER.has(failureKind)) return "herald";
  return TAKES_ALL.has(endpoint?.character ?? "") ? "herald" : "receiver";
}
