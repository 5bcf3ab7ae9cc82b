import type { FailureKind } from "@herald/contracts";

/**
 * The records of a run, each by a part that does not know the others: the emitter, the receivers, the
 * database, the admin, and the injector of faults. All times are of one machine's clock, in milliseconds since 1970.
 */
export interface History {
  /** The emitter's events, each id once. */
  events: EmittedRecord[];
  /** Deliveries that the API answered for, with what was to be sent. */
  manual: { deliveryId: string; endpointId: string; bodyHash: string }[];
  endpoints: LoadedEndpoint[];
  /** The receivers' requests, in any order. */
  requests: ReceivedRequest[];
  /** The rows of the database. */
  deliveries: StoredDelivery[];
  /** Times at which no attempt could have begun to an endpoint any more. */
  disablings: Disabling[];
  notices: ReceivedNotice[];
  faults: InjectedFault[];
  /** When dispatchers stood still for whatever reason, as they say themselves. */
  standstills: InjectedFault[];
  ownEnds: { service: string; at: number; lastLines: string[] }[];
  /** Messages that lie in a queue although nothing is going on any more. */
  leftInQueues: Record<string, number>;
  /** The longest time for which the machine was seen to do nothing for one of the run's processes. */
  stoodStillMs: number;
  settings: { attemptTimeoutMs: number; maxAttempts: number; disableAfter: number };
}

export interface EmittedRecord {
  id: string;
  organizationId: string;
  type: string;
  /** The hash of the body that receivers should get. */
  bodyHash: string;
  /** The broker took responsibility for it. */
  confirmed: boolean;
}

export interface LoadedEndpoint {
  id: string;
  organizationId: string;
  character: string;
  types: readonly string[];
}

export interface ReceivedRequest {
  endpointId: string;
  /** As the header says. */
  deliveryId: string;
  /** When its headers were there. */
  at: number;
  /** Why the verifier of `@herald/receiver` refused it; null if it was genuine. */
  forgery: string | null;
  /** Why the receiver refused it for its timestamp alone (SPEC 4.4.3), by the true time; null if that was right. */
  untimely: string | null;
  bodyHash: string;
  /** `accepted`: answered with 2xx, whatever the body did. `unanswered`: no response headers, or too late. */
  outcome: "accepted" | "refused" | "unanswered";
  /** When it was answered, or its connection ended. */
  endedAt: number;
  /**
   * The receiver reset a connection that had served before, without a byte of an answer: the sender may send the same
   * attempt once more, since most such resets are of a connection that was closed while it was idle.
   */
  resetWhenReused: boolean;
  /** It answered 2xx after the attempt's time, and the sender had not closed the connection. */
  acceptedLate: boolean;
}

export interface StoredDelivery {
  id: string;
  endpointId: string;
  /** Null for a manual delivery. */
  eventId: string | null;
  state: "pending" | "succeeded" | "exhausted";
  attemptCount: number;
  /** Whether it waits for an attempt: an unfinished one does, a finished one does not. */
  isDue: boolean;
  attempts: StoredAttempt[];
}

export interface StoredAttempt {
  number: number;
  startedAt: number;
  durationMs: number;
  statusCode: number;
  errorSummary: string | null;
  /** Null where it succeeded. */
  failureKind: FailureKind | null;
}

export interface Disabling {
  endpointId: string;
  /** Herald itself after failures, the run's admin, or one of both. */
  by: "herald" | "admin" | "either";
  /** From then on the admin knew it from an answer of the API. */
  from: number;
  /** When the admin first asked for it to be resumed. */
  until: number;
}

export interface ReceivedNotice {
  id: string;
  type: string;
  endpointId: string;
  /** The failed attempts behind it, as `delivery/number`. */
  attempts: string[];
}

export interface InjectedFault {
  kind: string;
  target: string;
  from: number;
  /** When everything that it touched could work again. */
  until: number;
  /** Why it was not injected after all. */
  skipped?: string;
}

/** A history with its look-ups. */
export interface Index {
  /** In the order of their arrival. */
  requestsOf(deliveryId: string): readonly ReceivedRequest[];
  isAccepted(deliveryId: string): boolean;
  delivery(id: string): StoredDelivery | undefined;
  deliveryOf(endpointId: string, eventId: string): StoredDelivery | undefined;
  event(id: string): EmittedRecord | undefined;
  endpoint(id: string): LoadedEndpoint | undefined;
  deliveryIds: readonly string[];
}

export function indexOf(history: History): Index {
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
