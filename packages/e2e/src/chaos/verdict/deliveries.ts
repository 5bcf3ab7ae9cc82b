import { wasReadLate } from "./attempts.ts";
import type { EmittedRecord, History, Index, LoadedEndpoint, StoredDelivery } from "./history.ts";

/** Confirmed events and answered manual deliveries that their receivers never accepted, for no reason of theirs. */
export function lostOf(history: History, known: Index): string[] {
  const lost: string[] = [];
  for (const event of history.events) {
    if (!event.confirmed) continue;
    for (const endpoint of history.endpoints) {
      if (!isMeant(event, endpoint)) continue;
      const delivery = known.deliveryOf(endpoint.id, event.id);
      const problem = delivery ? whyLost(delivery, history, known) : "never became a delivery";
      if (problem) lost.push(`event ${event.id} for ${endpoint.character} ${endpoint.id}: ${problem}`);
    }
  }
  for (const { deliveryId, endpointId } of history.manual) {
    const delivery = known.delivery(deliveryId);
    const problem = delivery ? whyLost(delivery, history, known) : "is not in the database";
    if (problem) lost.push(`manual delivery ${deliveryId} for ${endpointId}: ${problem}`);
  }
  return lost;
}

function isMeant(event: EmittedRecord, endpoint: LoadedEndpoint): boolean {
  return event.organizationId === endpoint.organizationId && endpoint.types.includes(event.type);
}

function whyLost({ id, state }: StoredDelivery, history: History, known: Index): string | undefined {
  if (state !== "succeeded" || known.isAccepted(id)) return undefined;
  if (known.requestsOf(id).some((request) => wasReadLate(history, request))) return undefined;
  return `delivery ${id} counts as delivered, and no receiver accepted it`;
}

/** Requests with a wrong signature or body, and deliveries of nothing that was emitted. */
export function forgedOf(history: History, known: Index): string[] {
  const found: string[] = [];
  const manual = new Map(history.manual.map((each) => [each.deliveryId, each]));
  for (const { deliveryId, endpointId, forgery, bodyHash } of history.requests) {
    const delivery = known.delivery(deliveryId);
    const expected = delivery?.eventId ? known.event(delivery.eventId)?.bodyHash : manual.get(deliveryId)?.bodyHash;
    // The API's answer may be lost: then only the database knows of a manual delivery.
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
    if (known.deliveryOf(endpointId, eventId)?.id !== id) found.push(`delivery ${id} is not the only one of its event`);
  }
  return found;
}

/** Deliveries that are not finished though nothing goes on any more, or are finished and still wait. */
export function unendingOf({ deliveries, leftInQueues }: History): string[] {
  return [
    ...deliveries
      .filter(({ state }) => state === "pending")
      .map(({ id, attemptCount }) => `delivery ${id} is pending after ${attemptCount} attempts`),
    ...deliveries
      .filter(({ state, isDue }) => (state === "pending") !== isDue)
      .map(({ id, state, isDue }) => `delivery ${id} is ${state} and ${isDue ? "still" : "not"} due`),
    ...messagesIn(leftInQueues, (queue) => !isOfRejected(queue)),
  ];
}

/** Events that lie with the rejected ones. None that is emitted breaks a rule. */
export function setAsideOf({ leftInQueues }: History): string[] {
  return messagesIn(leftInQueues, isOfRejected);
}

const isOfRejected = (queue: string) => queue.endsWith(".rejected");

function messagesIn(queues: History["leftInQueues"], isMeant: (queue: string) => boolean): string[] {
  return Object.entries(queues)
    .filter(([queue, messages]) => messages > 0 && isMeant(queue))
    .map(([queue, messages]) => `${messages} messages lie in ${queue}`);
}
