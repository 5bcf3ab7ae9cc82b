import type { IncomingMessage } from "@herald/common/broker/broker";
import type { TraceSpan } from "@herald/common/telemetry/tracing";

/** A message, from its arrival until its consumer is done with it. Only its bytes are kept until its batch runs. */
export interface Held {
  message: IncomingMessage;
  arrivedAt: Date;
  arrivedAtMs: number;
  /** Its event has more endpoints than a page: those up to this one have their deliveries. */
  afterEndpointId?: string;
  span?: TraceSpan | undefined;
  /** Nothing more is to be done. */
  done(): void;
  /** The consumer hands the message over again after a pause. */
  failed(error: unknown): void;
}
