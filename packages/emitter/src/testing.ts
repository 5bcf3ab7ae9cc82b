import { randomUUID } from "node:crypto";
import { NotSentError } from "@herald/amqp";
import type { RejectedEvent } from "@herald/contracts";
import type { EmittedEvent } from "./emitted-event.ts";
import type { EmitOptions, Emitter } from "./emitter.ts";
import { encodeEvent, readEventJson } from "./encode-event.ts";
import type { RejectionHandler } from "./rejections.ts";

/** An event as the broker would have got it. */
export interface Emission extends EmitOptions {
  event: EmittedEvent;
}

/** An emitter for tests, which sends nothing and keeps what it was given. */
export interface RecordingEmitter extends Emitter {
  /** What was emitted, in the order of the calls. */
  readonly emitted: readonly Emission[];
  /**
   * Calls the handlers of `onRejected`, as Herald would have it, and resolves when all have ended.
   *
   * @throws what a handler throws; from the real emitter it would get the same rejection again
   */
  reject(rejection?: Partial<RejectedEvent>): Promise<void>;
  /** The next call of `emit` fails as it does where the broker can't be reached. */
  failNext(): void;
  /** Forgets what was emitted. */
  clear(): void;
}

/**
 * Makes an emitter for the tests of a service. It judges events exactly as the real one: what that would refuse, this one
 * refuses with the same error.
 *
 * @example
 * const emitter = recordingEmitter();
 * await completeWorkItem(emitter, workItem);
 * expect(emitter.emitted).toMatchObject([{ event: { type: "WorkItemCompleted", entityId: workItem.id } }]);
 */
export function recordingEmitter(): RecordingEmitter {
  const emitted: Emission[] = [];
  const handlers = new Set<RejectionHandler>();
  let fails = false;
  let isClosed = false;

  function keep(body: Buffer, options: EmitOptions): void {
    const event = JSON.parse(body.toString()) as EmittedEvent;
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
      const told = { ...sampleRejection(), ...rejection };
      for (const handle of handlers) await handle(told);
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

function sampleRejection(): RejectedEvent {
  return {
    id: randomUUID(),
    type: "event.rejected",
    occurredAtUtc: new Date().toISOString(),
    organizationId: null,
    eventId: null,
    eventType: null,
    reason: "the event must be an object",
    events: 1,
  };
}
