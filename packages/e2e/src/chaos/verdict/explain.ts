import type { History, InjectedFault, ReceivedRequest, StoredDelivery } from "./history.ts";

/**
 * Faults that can part a dispatcher from the result of an attempt, so that the delivery comes due again. Its orderly end
 * (SIGTERM) is none of them: it settles what it has in flight.
 */
const PARTS_DISPATCHER = new Set(["kill", "crash-loop", "freeze"]);
/** After these the database knows less than the receivers. */
const FORGETS = new Set(["postgres-crashed", "postgres-failed-over", "database-restored"]);
/** PostgreSQL ends all connections, so that a dispatcher may lose its shards before it has written a result. */
const DATABASE_AWAY = new Set(["database-copied"]);
const PARTS_FROM_DATABASE = new Set(["cut", "stall", "silent-server", "silent-client"]);

function canRepeat({ kind, target, skipped }: InjectedFault): boolean {
  if (skipped !== undefined) return false;
  if (FORGETS.has(kind) || DATABASE_AWAY.has(kind)) return true;
  if (PARTS_DISPATCHER.has(kind)) return target.startsWith("dispatcher");
  return PARTS_FROM_DATABASE.has(kind) && /^dispatcher.*>postgres$/.test(target);
}

/** A fault's effects begin a moment before what the run saw of them, and clocks are read a moment late. */
const SLACK_MS = 250;

/** Attempts bear PostgreSQL's time, as exactly as round trips to it tell; receivers read the clock of the same machine themselves. */
export const CLOCK_SLACK_MS = 20;

/**
 * Names what made a delivery come once more though the receiver had accepted it, or was still at it; undefined if nothing
 * that happened between the two can have done so.
 */
export function explainRepeat(
  history: Pick<History, "faults" | "settings" | "stoodStillMs">,
  delivery: StoredDelivery | undefined,
  first: ReceivedRequest,
  second: ReceivedRequest,
): string | undefined {
  const fault = history.faults
    .filter((each) => canRepeat(each) && each.from <= second.at && each.until >= first.at - SLACK_MS)
    .sort((a, b) => Math.abs(a.from - first.at) - Math.abs(b.from - first.at))[0];
  if (fault) return fault.kind;
  return cameTooLate(history, delivery, first) ? "late answer" : undefined;
}

/** The receiver accepted it, and the sender had given up by then, or stood still and read the answer too late. */
function cameTooLate(
  { settings, stoodStillMs }: Pick<History, "settings" | "stoodStillMs">,
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
