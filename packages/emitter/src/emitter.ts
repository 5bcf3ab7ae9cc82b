import { type Authorities, NotSentError, openBrokerScope, refusalIn, startPublisher } from "@herald/amqp";
import { callerTrace, traceLoading } from "./caller-trace.ts";
import { type EmittedEvent, encodeEvent, readEventJson, routingKey } from "./encode-event.ts";
import {
  checkExchange,
  listenForRejections,
  type RejectionHandler,
  type RejectionOptions,
  type Rejections,
} from "./rejections.ts";

export interface EmitterOptions {
  /** The broker, as `amqp://user:password@host:port/vhost`. */
  url: string;
  /**
   * PEM certificates of the authorities that the broker's certificate may come from, for `amqps://`; Node's if absent. A function is asked for
   * them at each connection, so that a program can read a file that has changed.
   */
  ca?: Authorities;
  /** First part of Herald's names on the broker. "herald" if absent. */
  namespace?: string;
  /** How many events may wait for a confirm at once; 500 if absent. More than these are not sent yet. */
  maxUnconfirmed?: number;
  /** How long `emit` may take, any reconnection included; 10 s if absent. */
  timeoutMs?: number;
  /** Shown in the broker's list of connections. "herald-emitter" if absent. */
  connectionName?: string;
  /** Called each time the broker can't be reached, is lost or takes no messages; the emitter tries again by itself. For a log. */
  onFailure?: (error: Error) => void;
}

export interface EmitOptions {
  /**
   * W3C trace context of what caused the event, which Herald continues. If absent, it is the active span's, if the service has
   * OpenTelemetry (`@opentelemetry/api`); `null` for none.
   */
  traceparent?: string | null;
}

export interface Emitter {
  /**
   * Sends an event to Herald. Resolves when the broker has taken responsibility for it, and not before.
   *
   * A connection that is lost in the middle is opened again and the event sent again, until `timeoutMs` is over; Herald
   * delivers the same event once, however often it comes.
   *
   * @throws InvalidEventError if it breaks the contract, saying which fields; trying again is no use
   * @throws NotSentError if it was not confirmed, saying why; trying again with the same event is safe
   */
  emit(event: EmittedEvent, options?: EmitOptions): Promise<void>;
  /**
   * Sends an event that is JSON already, as an outbox holds it. Judged like every event, and sent as it is written.
   *
   * @throws as `emit` does
   */
  emitJson(json: string, options?: EmitOptions): Promise<void>;
  /**
   * Calls the handler with each event that Herald rejected: of this service, and of every other one, since Herald does not know which
   * service emitted an event. At least once; the same one has the same event id. It listens until it is closed, or the emitter is.
   *
   * @throws Error if the emitter is closed, or the url is not an AMQP URL
   */
  onRejected(handle: RejectionHandler, options: RejectionOptions): Rejections;
  /** Whether an event can be sent now; for a readiness check. */
  isReady(): boolean;
  /** Takes no more, waits for events under way (at most `timeoutMs`), ends the listeners for rejections, and disconnects. */
  close(): Promise<void>;
}

/** Herald makes its exchange a moment before it binds its queues, so an event may find no queue in between. */
const UNROUTABLE_GRACE_MS = 300;

/**
 * Makes an emitter and begins to connect. Does not throw if the broker is away: events wait for it.
 *
 * @throws Error if the url is not an AMQP URL
 */
export function createEmitter(options: EmitterOptions): Emitter {
  const { url, ca, namespace = "herald", connectionName = "herald-emitter", onFailure, ...limits } = options;
  const exchange = `${namespace}.events`;
  const scope = openBrokerScope({
    url,
    name: connectionName,
    ca,
    outages: {
      down: (_what, error) => {
        const refusal = refusalIn(error, url);
        onFailure?.(refusal === null ? error : new Error(refusal, { cause: error }));
      },
      up: () => undefined,
    },
    // Publishing to a missing exchange would close the channel, with every unconfirmed event on it.
    declare: (channel) => checkExchange(channel, exchange),
  });
  const publisher = startPublisher(scope, {
    ...limits,
    onChannelLost: "resend",
    unroutableGraceMs: UNROUTABLE_GRACE_MS,
  });

  const listening = new Set<Rejections>();

  /** The same error in words about the event. */
  function notEmitted({ reason, detail }: NotSentError, id: string, type: string): NotSentError {
    const words =
      reason === "unroutable"
        ? `no queue takes ${type} from ${exchange}: start Herald's publisher, and compare the namespace`
        : detail;
    const advice = "Emitting it again with the same id and time is safe.";
    return new NotSentError(reason, words, { what: `event ${id}`, messageId: id, advice });
  }

  async function send(event: EmittedEvent, content: Buffer, options: EmitOptions): Promise<void> {
    const { id, type } = event;
    if (traceLoading()) await traceLoading();
    const traceparent = callerTrace(options);
    const headers = traceparent === undefined ? {} : { traceparent };
    try {
      await publisher.publish({ exchange, routingKey: routingKey(event), content, messageId: id, type, headers });
    } catch (error) {
      throw error instanceof NotSentError ? notEmitted(error, id, type) : error;
    }
  }

  return {
    emit: async (event, options = {}) => await send(event, encodeEvent(event), options),
    emitJson: async (json, options = {}) => {
      const { event, body } = readEventJson(json);
      await send(event, body, options);
    },
    onRejected: (handle, { url: ownUrl = url, ...options }) => {
      if (scope.isClosed()) throw new Error("The emitter has been closed.");
      const rejections = listenForRejections(handle, {
        ...options,
        url: ownUrl,
        ca,
        namespace,
        connectionName,
        onFailure,
      });
      listening.add(rejections);
      return {
        ...rejections,
        close: async () => {
          listening.delete(rejections);
          await rejections.close();
        },
      };
    },
    isReady: scope.isReady,
    close: async () => {
      // Events that wait for this are under way.
      if (traceLoading()) await traceLoading();
      await Promise.all([scope.close(), ...[...listening].map((rejections) => rejections.close())]);
    },
  };
}
