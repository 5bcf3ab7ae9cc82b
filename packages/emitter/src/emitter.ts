import { type ConfirmChannel, IllegalOperationError } from "amqplib";
import { openLink } from "./broker-link.ts";
import type { EmittedEvent } from "./emitted-event.ts";
import { encodeEvent } from "./encode-event.ts";
import { NotSentError, type NotSentReason } from "./errors.ts";

export interface EmitterOptions {
  /** The broker, as `amqp://user:password@host:port/vhost`. */
  url: string;
  /** What Herald's names on the broker begin with. "herald" where absent. */
  namespace?: string;
  /** How many events may be on their way to a confirm at once; 500 where absent. Others wait. */
  maxUnconfirmed?: number;
  /** How long `emit` may take, any reconnection included; 10 s where absent. */
  timeoutMs?: number;
  /** Shown in the broker's list of connections. "herald-emitter" where absent. */
  connectionName?: string;
  /** Each time the broker can't be reached or is lost; the emitter tries again by itself. For a log. */
  onFailure?: (error: Error) => void;
}

export interface EmitOptions {
  /** W3C trace context of what caused the event; it becomes part of the trace of each attempt. */
  traceparent?: string;
}

export interface Emitter {
  /**
   * Sends an event to Herald. Resolves when the broker has taken responsibility for it, and not before.
   *
   * A connection that is lost in the middle is opened again and the event sent again, until `timeoutMs` is over; Herald
   * delivers an id once, however often it comes.
   *
   * @throws InvalidEventError where it breaks the contract, saying which fields; trying again is no use
   * @throws NotSentError where it was not confirmed, saying why; trying again with the same event is safe
   */
  emit(event: EmittedEvent, options?: EmitOptions): Promise<void>;
  /** Takes no more, waits for what is under way (`timeoutMs` at most), and disconnects. */
  close(): Promise<void>;
}

interface Job {
  eventId: string;
  type: string;
  content: Buffer;
  traceparent: string | undefined;
  timer: NodeJS.Timeout;
  /** Its caller has been told. */
  done: boolean;
  /** Why no queue took it; the broker says so before it confirms. */
  returned: string | null;
  /** That has happened before. */
  wasReturned: boolean;
  resolve: () => void;
  reject: (error: Error) => void;
}

const RETURN_GRACE_MS = 300;

/**
 * Makes an emitter and begins to connect. Nothing is thrown where the broker is away: events wait for it.
 *
 * @throws Error where the url is none of a broker
 */
export function createEmitter(options: EmitterOptions): Emitter {
  const { url, namespace = "herald", maxUnconfirmed = 500, timeoutMs = 10_000 } = options;
  const exchange = `${namespace}.events`;
  /** In the order of the calls; a set, since a deadline takes a job out of the middle. */
  let waiting = new Set<Job>();
  /** By the number of the publication. A job that missed its deadline stays: amqplib still holds it. */
  const unconfirmed = new Map<string, Job>();
  let lastNumber = 0;
  /** Events whose callers have not been told yet. */
  let pending = 0;
  let channel: ConfirmChannel | null = null;
  /** amqplib's buffer is over its mark; "drain" says when it is empty. */
  let saturated = false;
  let closed: Promise<void> | null = null;
  let onIdle: (() => void) | null = null;

  const link = openLink({
    url,
    name: options.connectionName ?? "herald-emitter",
    exchange,
    opened(fresh) {
      channel = fresh;
      fresh.on("drain", () => {
        saturated = false;
        send();
      });
      fresh.on("return", ({ fields, properties }) => {
        const job = unconfirmed.get(properties.correlationId);
        if (job) job.returned = (fields as { replyText?: string }).replyText ?? "no route";
      });
      send();
    },
    lost() {
      channel = null;
      saturated = false;
      // Whether these arrived is unknown. They go first, in their order, and Herald knows their ids.
      const again = [...unconfirmed.values()].filter((job) => !job.done);
      unconfirmed.clear();
      waiting = new Set([...again, ...waiting]);
    },
    unblocked: send,
    failed: (error) => options.onFailure?.(error),
  });

  function send(): void {
    for (const job of waiting) {
      if (!channel || saturated || unconfirmed.size >= maxUnconfirmed || link.obstacle()) return;
      if (!publish(job, channel)) return;
      waiting.delete(job);
    }
  }

  /** Returns false where the channel is closing: the job waits for the next one. */
  function publish(job: Job, to: ConfirmChannel): boolean {
    const number = String(++lastNumber);
    job.returned = null;
    unconfirmed.set(number, job);
    const properties = {
      persistent: true,
      mandatory: true,
      contentType: "application/json",
      messageId: job.eventId,
      correlationId: number,
      type: job.type,
      headers: job.traceparent === undefined ? {} : { traceparent: job.traceparent },
    };
    try {
      saturated = !to.publish(exchange, job.type, job.content, properties, (nack) => confirmed(number, nack));
      return true;
    } catch (error) {
      unconfirmed.delete(number);
      if (error instanceof IllegalOperationError) return false;
      settle(job, () => job.reject(error as Error));
      return true;
    }
  }

  function confirmed(number: string, nack: Error | null): void {
    const job = unconfirmed.get(number);
    // Those of a channel that was lost are waiting again.
    if (!job) return;
    unconfirmed.delete(number);
    if (nack) fail(job, "refused", "the broker refused it");
    else if (job.returned !== null) unroutable(job);
    else settle(job, job.resolve);
    send();
  }

  /** Herald makes its exchange a moment before it binds its queue, so the first return may mean nothing. */
  function unroutable(job: Job): void {
    if (job.wasReturned) {
      fail(job, "unroutable", noRoute(job));
      return;
    }
    job.wasReturned = true;
    setTimeout(() => {
      if (job.done) return;
      waiting.add(job);
      send();
    }, RETURN_GRACE_MS);
  }

  function expire(job: Job): void {
    const isWaiting = waiting.delete(job);
    const obstacle = link.obstacle() ?? `the window of ${maxUnconfirmed} unconfirmed events stayed full`;
    if (job.returned !== null) fail(job, "unroutable", noRoute(job));
    else if (isWaiting) fail(job, "unavailable", `${obstacle} (waited ${timeoutMs} ms)`);
    else fail(job, "unconfirmed", `the broker did not confirm it within ${timeoutMs} ms`);
  }

  function noRoute({ type, returned }: Job): string {
    return `no queue takes ${type} from ${exchange} (${returned}): start Herald's publisher, and compare the namespace`;
  }

  function fail(job: Job, reason: NotSentReason, detail: string): void {
    settle(job, () => job.reject(new NotSentError(reason, job.eventId, detail)));
  }

  function settle(job: Job, tell: () => void): void {
    if (job.done) return;
    job.done = true;
    clearTimeout(job.timer);
    tell();
    pending--;
    if (pending === 0) onIdle?.();
  }

  async function close(): Promise<void> {
    if (pending > 0) {
      await new Promise<void>((resolve) => {
        onIdle = resolve;
      });
    }
    await link.close();
  }

  return {
    emit: async (event, { traceparent } = {}) => {
      const content = encodeEvent(event);
      if (closed) throw new NotSentError("closed", event.id, "the emitter is closed");
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => expire(job), timeoutMs);
        const { id, type } = event;
        const state = { done: false, returned: null, wasReturned: false };
        const job: Job = { eventId: id, type, content, traceparent, timer, ...state, resolve, reject };
        pending++;
        waiting.add(job);
        send();
      });
    },
    close() {
      closed ??= close();
      return closed;
    },
  };
}
