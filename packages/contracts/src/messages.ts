interface OfEndpoint {
  endpointId: string;
  organizationId: string;
}

/**
 * New deliveries, for the dispatcher that owns the endpoints' shards: of events that a publisher has stored, or of events that have arrived and that it
 * is about to store. Losing one loses nothing: what is stored without a result is due, and the owner looks there every few seconds.
 */
export interface HandOver {
  /** False if the events have only arrived. Publisher or owner stores their deliveries, whichever comes first. */
  stored: boolean;
  events: {
    eventType: string;
    /** The event, byte for byte. */
    body: string;
    traceparent: string | null;
    key: string;
    /** When it came. Its deliveries are made, and due, at this time. */
    receivedAtUtc: string;
  }[];
  deliveries: (OfEndpoint & {
    deliveryId: string;
    /** The endpoint's, as a decimal number, which it had at `readAtUtc`. */
    revision: string;
    readAtUtc: string;
    /** Which of the events it delivers. */
    event: number;
  })[];
  /** Endpoints that have more deliveries, which their owner reads from PostgreSQL. */
  work: (OfEndpoint & {
    /** The ids of these deliveries, if all were handed over when their events arrived: only if the owner lacks some of them, it reads. */
    arrived?: string[];
  })[];
}

/** Notifies the owner of an endpoint that its configuration has changed, or that it was deleted. */
export interface EndpointChanged extends OfEndpoint {
  kind: "changed";
}

/** Asks for the first attempt of a manual delivery at once. The API's request waits until the delivery's row has the result. */
export interface ManualRequest extends OfEndpoint {
  kind: "manual";
  deliveryId: string;
  /** When the delivery is due if no dispatcher attempts it for this request. */
  dueAtUtc: string;
  /** Of the request, whose trace the attempt continues. */
  traceparent: string | null;
}
