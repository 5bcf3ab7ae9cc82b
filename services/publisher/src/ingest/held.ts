import type { TraceSpan } from "@herald/common/telemetry/tracing";
import type { Message } from "./bundle.ts";
import type { IncomingEvent } from "./read-event.ts";

/** An event, from the arrival of its message until that is settled. Of a large one only its bytes are kept until its batch runs. */
export interface Held {
  message: Message;
  /** The queue that it came from. */
  queue: string;
  /** Whose turn it is: as {@link organizationOf} reads it, before the event is judged. */
  organization: string;
  arrivedAt: Date;
  arrivedAtMs: number;
  /** The event, where it was read when it came. */
  event?: IncomingEvent;
  /** Set where the event has more endpoints than a page: the endpoints up to this one have their deliveries. */
  afterEndpointId?: string;
  span?: TraceSpan | undefined;
  /** To be called when there is nothing left to do for the event: the message is settled when that holds for all its events. */
  done(): void;
  /** To be called when the message can't be stored now: the consumer hands it over again after a pause. */
  failed(error: unknown): void;
}
