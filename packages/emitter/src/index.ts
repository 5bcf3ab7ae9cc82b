export { NotSentError, type NotSentReason } from "@herald/amqp";
export { type EmittedEvent, type NewEvent, newEvent } from "./emitted-event.ts";
export { createEmitter, type EmitOptions, type Emitter, type EmitterOptions } from "./emitter.ts";
export { type EventProblem, InvalidEventError } from "./errors.ts";
export { ENTITY_KINDS, type EntityChange, type EntityKind, eventFor } from "./event-for.ts";
