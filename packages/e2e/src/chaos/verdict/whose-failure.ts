import type { FailureKind } from "@herald/contracts";
import type { History, InjectedFault, LoadedEndpoint, StoredAttempt } from "./history.ts";

/** Who made an attempt fail. */
export type Culprit =
  /** The receiver, as its character has it. */
  | "receiver"
  /** The receiver too, and only since it restarted. */
  | "restart"
  /** The network or the name server, for everybody. */
  | "network"
  /** Herald, or nobody knows. */
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
const FAULTS_OF_NETWORK: ReadonlySet<string> = new Set(["resolver-dead", "no-route"]);
/** Clocks are read a moment late, and a dispatcher keeps what it has looked up for five seconds. */
const SLACK_MS = 250;
const ANSWER_KEPT_MS = 5_000;

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
