export { type Authorities, NotSentError, type NotSentReason } from "@herald/amqp";
export { ENTITY_TYPES, type EntityType, EVENT_TYPES, type EventType, type RejectedEvent } from "@herald/contracts";
export { createEmitter, type EmitOptions, type Emitter, type EmitterOptions } from "./emitter.ts";
export {
  type EmittedEvent,
  type EventProblem,
  eventJson,
  InvalidEventError,
  type NewEvent,
  newEvent,
  routingKey,
} from "./encode-event.ts";
export { type EntityChange, eventFor } from "./event-for.ts";
export type { RejectionHandler, RejectionOptions, Rejections } from "./rejections.ts";
export { UUID_NAMESPACE, uuidFor } from "./uuid-for.ts";
