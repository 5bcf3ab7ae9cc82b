export { type Authorities, NotSentError, type NotSentReason } from "@herald/amqp";
export { ENTITY_TYPES, type EntityType, EVENT_TYPES, type EventType, type RejectedEvent } from "@herald/contracts";
export { type EmittedEvent, type NewEvent, newEvent } from "./emitted-event.ts";
export { createEmitter, type EmitOptions, type Emitter, type EmitterOptions } from "./emitter.ts";
export { type EventProblem, eventJson, InvalidEventError, routingKey } from "./encode-event.ts";
export { type EntityChange, eventFor } from "./event-for.ts";
export type { RejectionHandler, RejectionOptions, Rejections } from "./rejections.ts";
export { UUID_NAMESPACE, uuidFor } from "./uuid-for.ts";
