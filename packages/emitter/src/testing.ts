import { randomUUID } from "node:crypto";
import { NotSentError } from "@herald/amqp";
import { EVENT_TYPES, type RejectedEvent } from "@herald/contracts";
import type { EmittedEvent } from "./emitted-event.ts";
import type { EmitOptions, Emitter } from "./emitter.ts";
import { encodeEvent, InvalidEventError, readEventJson } from "./encode-event.ts";
import type { Outbox } from "./outbox/outbox.ts";
import type { RejectionHandler } from "./rejections.ts";

/** An event as the broker would have got it. */
export interface Emission extends EmitOptions {
  event: EmittedEvent;
}

export interface RecordingOptions {
  /**
   * The types that may be emitted: those of Herald's default catalogue if absent. For a catalogue of your own, its names;
   * and those besides that are emitted although Herald does not deliver them.
   */
  types?: readonly string[];
}

/** An emitter for tests, which sends nothing and keeps the events that it gets. */
export interface RecordingEmitter extends Emitter {
  /** The emitted events, in the order of the calls. */
  readonly emitted: readonly Emission[];
  /**
   * Calls the handlers of `onRejected`, as Herald would have it, and resolves when all have ended.
   *
   * @throws what a handler throws; from the real emitter it would get the same rejection again
   */
  reject(rejection?: Partial<RejectedEvent>): Promise<void>;
  /** The next call of `emit` fails as if the broker could not be reached. */
  failNext(): void;
  /** Forgets the emitted events. */
  clear(): void;
}

/**
 * Makes an emitter for the tests of a service. It judges events as the real one does, and refuses the same ones with the same
 * error. It also refuses types that Herald would not deliver.
 *
 * @example
 * const emitter = recordingEmitter();
 * await completeWorkItem(emitter, workItem);
 * expect(emitter.emitted).toMatchObject([{ event: { type: "WorkItemCompleted", entityId: workItem.id } }]);
 */
export function recordingEmitter(options: RecordingOptions = {}): RecordingEmitter {
  const eventOf = reader(options);
  const emitted: Emission[] = [];
  const handlers = new Set<RejectionHandler>();
  let fails = false;
  let isClosed = false;

  function keep(body: Buffer, options: EmitOptions): void {
    const event = eventOf(body);
    if (isClosed || fails) {
      fails = false;
      const [reason, detail] = isClosed
        ? (["closed", "the publisher is closed"] as const)
        : (["unavailable", "the test wants it so"] as const);
      throw new NotSentError(reason, detail, { what: `event ${event.id}`, messageId: event.id });
    }
    emitted.push({ event, ...options });
  }

  return {
    emitted,
    emit: async (event, options = {}) => keep(encodeEvent(event), options),
    emitJson: async (json, options = {}) => keep(readEventJson(json).body, options),
    onRejected: (handle) => {
      if (isClosed) throw new Error("The emitter has been closed.");
      handlers.add(handle);
      return { isReady: () => handlers.has(handle), close: async () => void handlers.delete(handle) };
    },
    reject: async (rejection = {}) => {
      const notice = { ...sampleRejection(), ...rejection };
      for (const handle of handlers) await handle(notice);
    },
    isReady: () => !isClosed,
    close: async () => {
      isClosed = true;
      handlers.clear();
    },
    failNext: () => {
      fails = true;
    },
    clear: () => {
      emitted.length = 0;
    },
  };
}

/** An outbox for tests, which writes nothing and keeps the events that it gets. */
export interface RecordingOutbox extends Outbox {
  /** The added events, in the order of the calls. */
  readonly added: readonly Emission[];
  /**
   * Keeps an event that a service has inserted by a library of its own: the column `event` as `eventJson` makes it.
   *
   * @throws InvalidEventError if a relay could not send it
   */
  addJson(json: string, options?: EmitOptions): void;
  /** Forgets the added events. */
  clear(): void;
}

/**
 * Makes an outbox for the tests of a service. It judges events as `recordingEmitter` does, and uses no connection.
 *
 * @example
 * const outbox = recordingOutbox();
 * await completeWorkItem({ query: async () => {} }, outbox, workItem);
 * expect(outbox.added).toMatchObject([{ event: { type: "WorkItemCompleted", entityId: workItem.id } }]);
 */
export function recordingOutbox(options: RecordingOptions = {}): RecordingOutbox {
  const eventOf = reader(options);
  const added: Emission[] = [];
  const keep = (body: Buffer, given: EmitOptions) => void added.push({ event: eventOf(body), ...given });
  return {
    added,
    add: async (_client, event, given = {}) => keep(encodeEvent(event), given),
    addJson: (json, given = {}) => keep(readEventJson(json).body, given),
    clear: () => {
      added.length = 0;
    },
  };
}

/** Reads an event that was judged already, and refuses one of a type that is not known. */
function reader({ types = EVENT_TYPES }: RecordingOptions): (body: Buffer) => EmittedEvent {
  const known = new Set(types);
  return (body) => {
    const event = JSON.parse(body.toString()) as EmittedEvent;
    if (known.has(event.type)) return event;
    const message = `is ${JSON.stringify(event.type)}, which Herald does not deliver. It may be one of ${types.join(", ")}; the option types adds others`;
    throw new InvalidEventError([{ field: "type", message }]);
  };
}

function sampleRejection(): RejectedEvent {
  return {
    id: randomUUID(),
    type: "event.rejected",
    occurredAtUtc: new Date().toISOString(),
    organizationId: null,
    eventId: null,
    eventType: null,
    cause: "rejected",
    reason: "the event must be an object",
  };
}
