export { NotSentError, type NotSentReason } from "@herald/amqp";
export { ENTITY_TYPES, type EntityType } from "@herald/contracts";
export { type EmittedEvent, type NewEvent, newEvent } from "./emitted-event.ts";
export { createEmitter, type EmitOptions, type Emitter, type EmitterOptions } from "./emitter.ts";
export { eventJson } from "./encode-event.ts";
export { type EventProblem, InvalidEventError } from "./errors.ts";
export { type EntityChange, eventFor } from "./event-for.ts";
export { routingKey } from "./routing-key.ts";
export { UUID_NAMESPACE, uuidFor } from "./uuid-for.ts";
