import type { FailureKind } from "@herald/contracts";
import { explainRepeat } from "./explain.ts";
import type {
  EmittedRecord,
  History,
  LoadedEndpoint,
  ReceivedRequest,
  StoredAttempt,
  StoredDelivery,
} from "./history.ts";

/** Things that must not be, each with what it is about, in words. All lists empty: the run has passed. */
export interface Findings {
  /** A confirmed event, or an answered manual delivery, that its receiver never accepted, for no reason of the receiver's. */
  lost: string[];
  /** A delivery that was given up although its receiver did not fail all of its attempts. */
  wronglyExhausted: string[];
  /** A delivery with more attempts than it may have, counted in the database and at the receiver. */
  tooManyAttempts: string[];
  /** A request that came when its endpoint had been disabled for longer than a claim is good for. */
  afterDisabling: string[];
  /** A request with a wrong signature, another body than was emitted, or of a delivery that there should not be. */
  forged: string[];
  /** A delivery that is still not finished, or is finished and still due, or a message that still lies in a queue. */
  unending: string[];
  /** A delivery that came again though it had been accepted, and no fault can have been the reason. */
  unexplainedDuplicates: string[];
  /** An endpoint that was disabled by fewer failed attempts than it takes, or without the product being told. */
  wronglyDisabled: string[];
  /** A service that ended by itself. */
  crashed: string[];
}

export interface Figures {
  events: number;
  confirmed: number;
  deliveries: number;
  succeeded: number;
  exhausted: number;
  requests: number;
  /** Requests of deliveries that the receiver had accepted before, by what explains them. */
  duplicates: Record<string, number>;
  /** Attempts that count as failed, for whatever reason. */
  failedAttempts: number;
  /** Accepted by the receiver, and given up by Herald: the answer to the last attempt was lost with its dispatcher. */
  acceptedYetExhausted: number;
  /** Requests that came after a disabling was known, but were claimed before; and how late the latest was. */
  underWayWhenDisabled: number;
  latestAfterDisablingMs: number;
  disabledByHerald: number;
  faults: Record<string, number>;
}

export interface Verdict {
  passed: boolean;
  findings: Findings;
  figures: Figures;
}

/** Compares what was emitted with what was received and with what the database says. Pure. */
export function reconcile(history: History): Verdict {
  const known = indexOf(history);
  const { duplicates, unexplainedDuplicates } = repeatsOf(history, known);
  const { afterDisabling, underWayWhenDisabled, latestAfterDisablingMs } = requestsWhileDisabled(history);
  const findings: Findings = {
    lost: lostOf(history, known),
    wronglyExhausted: wronglyExhaustedOf(history, known),
    tooManyAttempts: tooManyOf(history, known),
    afterDisabling,
    forged: forgedOf(history, known),
    unending: unendingOf(history),
    unexplainedDuplicates,
    wronglyDisabled: wronglyDisabledOf(history),
    crashed: history.ownEnds.map(
      ({ service, lastLines }) => `${service} ended by itself: ${lastLines.slice(-3).join(" | ")}`,
    ),
  };
  const { deliveries } = history;
  const attempts = deliveries.flatMap((delivery) => delivery.attempts);
  return {
    passed: Object.values(findings).every((list: string[]) => list.length === 0),
    findings,
    figures: {
      events: history.events.length,
      confirmed: history.events.filter(({ confirmed }) => confirmed).length,
      deliveries: deliveries.length,
      succeeded: deliveries.filter(({ state }) => state === "succeeded").length,
      exhausted: deliveries.filter(({ state }) => state === "exhausted").length,
      requests: history.requests.length,
      duplicates,
      failedAttempts: attempts.filter(({ failureKind }) => failureKind !== null).length,
      acceptedYetExhausted: deliveries.filter(({ state, id }) => state === "exhausted" && known.isAccepted(id)).length,
      underWayWhenDisabled,
      latestAfterDisablingMs,
      disabledByHerald: history.disablings.filter(({ by }) => by === "herald").length,
      faults: countBy(history.faults.filter(({ skipped }) => skipped === undefined).map(({ kind }) => kind)),
    },
  };
}

interface Index {
  /** In the order of their arrival. */
  requestsOf(deliveryId: string): readonly ReceivedRequest[];
  isAccepted(deliveryId: string): boolean;
  delivery(id: string): StoredDelivery | undefined;
  deliveryOf(endpointId: string, eventId: string): StoredDelivery | undefined;
  event(id: string): EmittedRecord | undefined;
  endpoint(id: string): LoadedEndpoint | undefined;
  deliveryIds: readonly string[];
}

function indexOf(history: History): Index {
  const requests = new Map<string, ReceivedRequest[]>();
  for (const request of [...history.requests].sort((a, b) => a.at - b.at)) {
    const own = requests.get(request.deliveryId);
    if (own) own.push(request);
    else requests.set(request.deliveryId, [request]);
  }
  const deliveries = new Map(history.deliveries.map((delivery) => [delivery.id, delivery]));
  const byEvent = new Map(
    history.deliveries.map((delivery) => [`${delivery.endpointId}/${delivery.eventId}`, delivery]),
  );
  const events = new Map(history.events.map((event) => [event.id, event]));
  const endpoints = new Map(history.endpoints.map((endpoint) => [endpoint.id, endpoint]));
  return {
    requestsOf: (id) => requests.get(id) ?? [],
    isAccepted: (id) => requests.get(id)?.some(({ outcome }) => outcome === "accepted") ?? false,
    delivery: (id) => deliveries.get(id),
    deliveryOf: (endpointId, eventId) => byEvent.get(`${endpointId}/${eventId}`),
    event: (id) => events.get(id),
    endpoint: (id) => endpoints.get(id),
    deliveryIds: [...requests.keys()],
  };
}

function lostOf(history: History, known: Index): string[] {
  const lost: string[] = [];
  for (const event of history.events) {
    if (!event.confirmed) continue;
    for (const endpoint of history.endpoints) {
      if (!isMeant(event, endpoint)) continue;
      const delivery = known.deliveryOf(endpoint.id, event.id);
      const problem = delivery ? whyLost(delivery, known) : "never became a delivery";
      if (problem) lost.push(`event ${event.id} for ${endpoint.character} ${endpoint.id}: ${problem}`);
    }
  }
  for (const { deliveryId, endpointId } of history.manual) {
    const delivery = known.delivery(deliveryId);
    const problem = delivery ? whyLost(delivery, known) : "is not in the database";
    if (problem) lost.push(`manual delivery ${deliveryId} for ${endpointId}: ${problem}`);
  }
  return lost;
}

function isMeant(event: EmittedRecord, endpoint: LoadedEndpoint): boolean {
  return event.organizationId === endpoint.organizationId && endpoint.types.includes(event.type);
}

function whyLost({ id, state }: StoredDelivery, known: Index): string | undefined {
  if (state !== "succeeded" || known.isAccepted(id)) return undefined;
  return `delivery ${id} counts as delivered, and no receiver accepted it`;
}

/**
 * What ends before an answer could come, with the dispatcher or in the machine's network, is no failure of a receiver: every
 * receiver of a run listens, under a name and a certificate that are good.
 */
const FAILED_BY_RECEIVER: ReadonlySet<FailureKind | null> = new Set<FailureKind>([
  "http_status",
  "timed_out",
  "connection_reset",
  "response_invalid",
]);

function wronglyExhaustedOf({ deliveries, settings }: History, known: Index): string[] {
  const found: string[] = [];
  for (const { id, state, attempts, attemptCount } of deliveries) {
    if (state !== "exhausted") continue;
    const failed = attempts.filter(({ failureKind }) => FAILED_BY_RECEIVER.has(failureKind)).length;
    const kinds = attempts.map(({ failureKind }) => failureKind ?? "success").join(", ");
    if (attemptCount < settings.maxAttempts) found.push(`delivery ${id} was given up after ${attemptCount} attempts`);
    else if (failed < settings.maxAttempts) found.push(`delivery ${id} was given up after attempts with ${kinds}`);
    else if (!known.requestsOf(id).some(({ outcome }) => outcome !== "accepted"))
      found.push(`delivery ${id} was given up, and its receiver refused none of its requests (${kinds})`);
  }
  return found;
}

function tooManyOf(history: History, known: Index): string[] {
  const { deliveries, settings } = history;
  const { maxAttempts } = settings;
  const found: string[] = [];
  for (const { id, attemptCount, attempts } of deliveries) {
    if (attemptCount > maxAttempts) found.push(`delivery ${id} has counted ${attemptCount} attempts`);
    if (attempts.length > maxAttempts) found.push(`delivery ${id} has ${attempts.length} attempts in its history`);
  }
  for (const id of known.deliveryIds) {
    const requests = known.requestsOf(id);
    const last = requests.filter((request, index) => !isResent(request, requests[index + 1]));
    const cutOff = unrecordedOf(known.delivery(id)?.attempts ?? [], last, settings).filter((request) => {
      const next = requests[requests.indexOf(request) + 1];
      return next && explainRepeat(history, known.delivery(id), request, next);
    });
    if (last.length - cutOff.length > maxAttempts) {
      const resent = requests.length - last.length;
      found.push(
        `delivery ${id} came ${requests.length} times, ${resent} of them sent again within an attempt, and ${cutOff.length} cut off`,
      );
    }
  }
  return found;
}

/** Requests of no attempt in the history: an attempt that is cut off with its dispatcher is not recorded, and does not count. */
function unrecordedOf(
  attempts: readonly StoredAttempt[],
  requests: readonly ReceivedRequest[],
  { attemptTimeoutMs }: History["settings"],
): ReceivedRequest[] {
  const left = [...requests];
  for (const { startedAt } of [...attempts].sort((a, b) => a.startedAt - b.startedAt)) {
    const index = left.findIndex(({ at }) => at >= startedAt - CLOCK_SLACK_MS && at <= startedAt + attemptTimeoutMs);
    if (index >= 0) left.splice(index, 1);
  }
  return left;
}

/** Two processes of one machine read the same clock, each in whole milliseconds. */
const CLOCK_SLACK_MS = 2;

const RESENT_WITHIN_MS = 1_500;

/** The next one is no new attempt: it goes out at once on a fresh connection, within the same attempt. */
function isResent(request: ReceivedRequest, next: ReceivedRequest | undefined): boolean {
  return request.resetWhenReused && next !== undefined && next.at - request.endedAt < RESENT_WITHIN_MS;
}

function requestsWhileDisabled({ requests, disablings, settings }: History) {
  const afterDisabling: string[] = [];
  let underWayWhenDisabled = 0;
  let latestAfterDisablingMs = 0;
  for (const { endpointId, from, until } of disablings) {
    for (const request of requests) {
      if (request.endpointId !== endpointId || request.at <= from || request.at >= until) continue;
      const lateMs = request.at - from;
      underWayWhenDisabled++;
      latestAfterDisablingMs = Math.max(latestAfterDisablingMs, lateMs);
      if (lateMs > settings.leaseMs) {
        afterDisabling.push(`delivery ${request.deliveryId} came ${lateMs} ms after ${endpointId} was disabled`);
      }
    }
  }
  return { afterDisabling, underWayWhenDisabled, latestAfterDisablingMs };
}

function forgedOf(history: History, known: Index): string[] {
  const found: string[] = [];
  const manual = new Map(history.manual.map((each) => [each.deliveryId, each]));
  for (const { deliveryId, endpointId, forgery, bodyHash } of history.requests) {
    const delivery = known.delivery(deliveryId);
    const expected = delivery?.eventId ? known.event(delivery.eventId)?.bodyHash : manual.get(deliveryId)?.bodyHash;
    // The API's answer may be lost: then nobody but the database knows of a manual delivery.
    const unknownManual = delivery?.eventId === null && expected === undefined;
    if (forgery !== null) found.push(`delivery ${deliveryId}: ${forgery}`);
    else if (!delivery) found.push(`delivery ${deliveryId} is not in the database`);
    else if (delivery.endpointId !== endpointId) found.push(`delivery ${deliveryId} came to another endpoint`);
    else if (expected !== bodyHash && !unknownManual)
      found.push(`delivery ${deliveryId} has another body than its event`);
  }
  for (const { id, endpointId, eventId } of history.deliveries) {
    if (eventId === null) continue;
    const [event, endpoint] = [known.event(eventId), known.endpoint(endpointId)];
    if (!event || !endpoint || !isMeant(event, endpoint)) found.push(`delivery ${id} is of no event for its endpoint`);
  }
  return found;
}

function unendingOf({ deliveries, leftInQueues }: History): string[] {
  return [
    ...deliveries
      .filter(({ state }) => state === "pending")
      .map(({ id, attemptCount }) => `delivery ${id} is pending after ${attemptCount} attempts`),
    ...deliveries
      .filter(({ state, isDue }) => (state === "pending") !== isDue)
      .map(({ id, state, isDue }) => `delivery ${id} is ${state} and ${isDue ? "still" : "not"} due`),
    ...Object.entries(leftInQueues)
      .filter(([, messages]) => messages > 0)
      .map(([queue, messages]) => `${messages} messages lie in ${queue}`),
  ];
}

function repeatsOf(history: History, known: Index) {
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

function wronglyDisabledOf({ notices, disablings, endpoints, settings }: History): string[] {
  const found: string[] = [];
  const disabled = [...new Map(notices.map((notice) => [notice.id, notice])).values()].filter(
    ({ type }) => type === "endpoint.disabled",
  );
  for (const { endpointId, attempts } of disabled) {
    const different = new Set(attempts).size;
    if (different < settings.disableAfter) found.push(`${endpointId} was disabled by ${different} failed attempts`);
  }
  for (const { id, character } of endpoints) {
    const known = disablings.filter(({ by, endpointId }) => by === "herald" && endpointId === id).length;
    const told = disabled.filter(({ endpointId }) => endpointId === id).length;
    if (told < known)
      found.push(`${character} ${id} was disabled ${known} times, and the product was told ${told} times`);
  }
  return found;
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
