import type { FailureKind } from "@herald/contracts";
import { countBy } from "../../statistics.ts";
import {
  ANSWER_KEPT_MS,
  CLOCK_SLACK_MS,
  explainRepeat,
  explainUnrecorded,
  FAULTS_OF_NETWORK,
  SLACK_MS,
} from "./explain.ts";
import type { History, Index, InjectedFault, LoadedEndpoint, StoredAttempt } from "./history.ts";

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
      const reason = explainUnrecorded(history, request);
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
  /** The receiver, as its character has it. */
  | "receiver"
  /** The receiver too, and only since it restarted. */
  | "restart"
  /** The network or the name server, for everybody. */
  | "network"
  /** Herald, or unknown. */
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
