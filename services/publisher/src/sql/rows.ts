import type { UndeliveredCause } from "@herald/contracts";

/** An event as it is stored, with the request body that every receiver gets. */
export interface IncomingEvent {
  organizationId: string;
  /** A function of organization, id and time: the same event has the same key. */
  key: string;
  id: string;
  type: string;
  entityId: string;
  occurredAt: Date;
  /** When it came. Its deliveries are created and due at this time, whichever process stores them. */
  receivedAt: Date;
  body: string;
  traceparent: string | null;
  /** Whether its deliveries were handed over when it came. */
  handedOver?: boolean;
}

/** A new delivery, of an event whose body is the stored one, or will be. */
export interface NewDelivery {
  id: string;
  endpointId: string;
  /** The revision of its endpoint, as a decimal number. */
  revision: string;
  /** When the endpoint had this revision. */
  readAt: Date;
  event: IncomingEvent;
  /** The dispatcher that owns the endpoint's shard, by the id of its process; null if none does. */
  owner: string | null;
}

/** An endpoint that has deliveries to read from PostgreSQL. */
export interface EndpointWithWork {
  endpointId: string;
  organizationId: string;
  owner: string | null;
}

export interface ForOwners {
  /** False for deliveries of events that are not stored yet. */
  stored: boolean;
  deliveries: readonly NewDelivery[];
  work: readonly EndpointWithWork[];
}

/** An event that is not taken, as notices and searches show it. It holds nothing of the event's data. */
export interface Rejection {
  cause: UndeliveredCause;
  /** Null if it can't be read, like the other fields. */
  organizationId: string | null;
  eventId: string | null;
  eventType: string | null;
  reason: string;
}
