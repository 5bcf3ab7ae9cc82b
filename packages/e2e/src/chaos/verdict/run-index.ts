import type { EmittedRecord, History, LoadedEndpoint, ReceivedRequest, StoredDelivery } from "./history.ts";

/** What a history knows, by what it is looked up by. */
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
