import { NotSentError } from "@herald/amqp";
import type { EmittedEvent } from "./emitted-event.ts";
import type { EmitOptions, Emitter } from "./emitter.ts";
import { encodeEvent, readEventJson } from "./encode-event.ts";

/** An event as the broker would have got it. */
export interface Emission extends EmitOptions {
  event: EmittedEvent;
}

/** An emitter for tests, which sends nothing and keeps what it was given. */
export interface RecordingEmitter extends Emitter {
  /** What was emitted, in the order of the calls. */
  readonly emitted: readonly Emission[];
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
    isReady: () => !isClosed,
    close: async () => {
      isClosed = true;
    },
    failNext: () => {
      fails = true;
    },
    clear: () => {
      emitted.length = 0;
    },
  };
}
