import type { IncomingMessage } from "@herald/common/broker/broker";
import type { TraceSpan } from "@herald/common/telemetry/tracing";

/** A message, from its arrival until its consumer is done with it. Only its bytes are kept until its batch runs. */
export interface Held {
  message: IncomingMessage;
  /** Whose turn it is: as {@link organizationOf} reads it, before the event is judged. */
  organization: string;
  arrivedAt: Date;
  arrivedAtMs: number;
  /** Set where the event has more endpoints than a page: the endpoints up to this one have their deliveries. */
  afterEndpointId?: string;
  span?: TraceSpan | undefined;
  /** To be called when the message is settled. */
  done(): void;
  /** To be called when the message can't be stored now: the consumer hands it over again after a pause. */
  failed(error: unknown): void;
}
