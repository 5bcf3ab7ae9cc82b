import { culpritOf } from "./attempts.ts";
import type { History, Index, ReceivedNotice, StoredAttempt } from "./history.ts";

/** No attempt begins with a configuration that was read longer ago. Its request comes when it is connected. */
const CONFIGURATION_MS = 500;

/** Requests that came to an endpoint while it was disabled, later than what was under way. */
export function requestsWhileDisabled({ requests, disablings, settings }: History): string[] {
  const found: string[] = [];
  for (const { endpointId, from, until } of disablings) {
    for (const request of requests) {
      if (request.endpointId !== endpointId || request.at <= from || request.at >= until) continue;
      const lateMs = request.at - from;
      if (lateMs > CONFIGURATION_MS + settings.attemptTimeoutMs) {
        found.push(`delivery ${request.deliveryId} came ${lateMs} ms after ${endpointId} was disabled`);
      }
    }
  }
  return found;
}

/**
 * Endpoints that were disabled though they should not have been, by the reason why they should not: too few failures that
 * followed one another; enough of them only with those of a restart; enough only with those that are no receiver's fault.
 * And those whose disabling the product got no notice of.
 */
export function wronglyDisabledOf(history: History, known: Index) {
  const { notices, disablings, endpoints, settings } = history;
  const wronglyDisabled: string[] = [];
  const disabledByRestart: string[] = [];
  const disabledForOurFault: string[] = [];
  const disabled = [...new Map(notices.map((notice) => [notice.id, notice])).values()].filter(
    ({ type }) => type === "endpoint.disabled",
  );
  for (const notice of disabled) {
    const { endpointId } = notice;
    const endpoint = known.endpoint(endpointId);
    const failures = failuresOf(notice, known).map((attempt) => ({
      attempt,
      culprit: attempt && culpritOf(history, endpoint, attempt),
    }));
    const enough = (isMeant: (culprit: string) => boolean) =>
      countFollowing(failures.filter(({ culprit }) => !culprit || isMeant(culprit)).map(({ attempt }) => attempt)) >=
      settings.disableAfter;
    const said = `${endpoint?.character} ${endpointId} was disabled by`;
    const kinds = failures.map(({ attempt }) => attempt?.failureKind).join(", ");
    if (!enough(() => true)) {
      const count = countFollowing(failures.map(({ attempt }) => attempt));
      wronglyDisabled.push(`${said} ${count} failed attempts that followed one another`);
    } else if (!enough((culprit) => culprit === "receiver" || culprit === "restart"))
      disabledForOurFault.push(`${said} failures that are not all its own (${kinds})`);
    else if (!enough((culprit) => culprit === "receiver"))
      disabledByRestart.push(`${said} failures of a restart (${kinds})`);
  }
  for (const { id, character } of endpoints) {
    const happened = disablings.filter(({ by, endpointId }) => by === "herald" && endpointId === id).length;
    const noticed = disabled.filter(({ endpointId }) => endpointId === id).length;
    if (noticed < happened)
      wronglyDisabled.push(`${character} ${id} was disabled ${happened} times, and the product got ${noticed} notices`);
  }
  return { wronglyDisabled, disabledByRestart, disabledForOurFault };
}

/** The different attempts that a notice names; undefined for those that the database does not know. */
function failuresOf({ attempts }: ReceivedNotice, known: Index): (StoredAttempt | undefined)[] {
  return [...new Set(attempts)].map((name) => {
    const [deliveryId = "", number] = name.split("/");
    return known.delivery(deliveryId)?.attempts.find((attempt) => attempt.number === Number(number));
  });
}

/** Times and durations are in whole milliseconds. */
const ROUNDING_MS = 2;

/** How many of the failures follow one another: each began when the one before had ended. Those without a time all do. */
function countFollowing(failures: readonly (StoredAttempt | undefined)[]): number {
  const timed = failures.filter((attempt) => attempt !== undefined);
  let count = failures.length - timed.length;
  let endedAt = Number.NEGATIVE_INFINITY;
  for (const { startedAt, durationMs } of timed.sort(
    (a, b) => a.startedAt + a.durationMs - b.startedAt - b.durationMs,
  )) {
    if (startedAt < endedAt - ROUNDING_MS) continue;
    count++;
    endedAt = startedAt + durationMs;
  }
  return count;
}
