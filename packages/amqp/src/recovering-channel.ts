import type { Channel } from "amqplib";
import type { Connection } from "./connection.ts";
import type { Outages } from "./outages.ts";
import { backoffMs, endsWithin, pause } from "./timing.ts";

/** A channel that is opened and set up again after each of its deaths, until it is closed. */
export interface RecoveringChannel<C extends Channel = Channel> {
  /** The channel that is open and set up, if there is one right now. */
  current(): C | undefined;
  /** The error that ended the last channel, or its set-up; undefined while a channel is open. */
  problem(): Error | undefined;
  /** Closes the channel, and opens no further one. Further calls wait for the first. */
  close(): Promise<void>;
}

/** A connection, and what is common to the channels on it. Made by `openBrokerScope`. */
export interface BrokerScope {
  readonly connection: Connection;
  readonly outages: Outages;
  /** Declares what the channels rely on. Runs on each new channel before it works. */
  declare(channel: Channel): Promise<unknown>;
  /** Every recovering channel that has not been closed. The scope is ready when all of them are open. */
  readonly channels: Set<RecoveringChannel>;
  /** To be called after each change of `channels`, and of a channel's `current()`. */
  changed(): void;
  /** How long the broker may take to answer that a connection or a channel is closed. */
  readonly closeTimeoutMs: number;
  /** How long the broker may take to answer any other request. */
  readonly answerTimeoutMs: number;
  isClosed(): boolean;
  /** Connected, not blocked, and every channel is open. */
  isReady(): boolean;
  /** Resolves once `isReady()`. @throws if the scope is closed before */
  ready(): Promise<void>;
  /** Closes all channels, each as its own `close()` does, and then the connection. */
  close(): Promise<void>;
}

export interface ChannelSpec<C extends Channel> {
  /** Names it in logs: "consumer of orders". */
  purpose: string;
  open(): Promise<C>;
  /**
   * Makes a new channel ready for its work, after the scope's `declare`. Runs again for every new channel.
   *
   * @param invalidate ends this channel, for a reason that only the spec sees; the next channel is opened
   */
  setUp?(channel: C, invalidate: (reason: Error) => void): Promise<void>;
  /** Called when the channel is ready, and is `current()`. */
  opened?(channel: C): void;
  /** Called when the channel is dead, before all other listeners. The broker forgets what was under way on the channel. */
  lost?(): void;
  /** Called before the channel is closed for good; the channel is closed once this resolves. Also called if no channel is open. */
  beforeClose?(): Promise<void>;
}

const BACKOFF = { firstMs: 100, longestMs: 5_000 };
/** A channel that lived this long was healthy: the next one is opened at once. */
const HEALTHY_LIFE_MS = 10_000;

/**
 * Keeps one channel open. A channel ends in one of four ways: with its connection, by an error of its own, because the broker does not answer
 * on it, or because its purpose no longer exists (`invalidate`). All four leave {@link live} in the same way and enter it again, so there is
 * only one path to get right.
 *
 * @throws if the scope is closed
 */
export function maintainChannel<C extends Channel>(scope: BrokerScope, spec: ChannelSpec<C>): RecoveringChannel<C> {
  if (scope.isClosed()) throw new Error("The broker has been closed.");
  const { connection, outages, closeTimeoutMs, answerTimeoutMs } = scope;
  const stop = new AbortController();
  let current: C | undefined;
  let problem: Error | undefined;

  /** Opens the channel, and waits for its end. @throws what ended the channel, unless `close` did */
  async function live(): Promise<void> {
    await connection.whenUp(stop.signal);
    if (stop.signal.aborted) return;
    const channel = await spec.open();
    let cause: Error | undefined;
    let ended: Error | undefined;
    let dead = false;
    let die = (): void => undefined;
    const death = new Promise<void>((resolve) => {
      die = () => {
        if (dead) return;
        dead = true;
        current = undefined;
        spec.lost?.();
        resolve();
      };
    });
    const end = async (reason: Error) => {
      ended ??= reason;
      if (!(await closeChannel(channel, closeTimeoutMs))) connection.replace(reason);
    };
    // "error" comes before "close", and without a listener would end the process.
    channel.on("error", (error: Error) => {
      cause ??= error;
    });
    // This runs before amqplib's own listener, which fails unconfirmed messages with an error that does not say why.
    channel.prependListener("close", die);
    const watching = watchAnswers(channel, connection, { answerTimeoutMs, onSilence: end });
    try {
      await scope.declare(channel);
      await spec.setUp?.(channel, end);
      if (!dead && !stop.signal.aborted) {
        current = channel;
        problem = undefined;
        outages.up(spec.purpose);
        spec.opened?.(channel);
        scope.changed();
        await death;
        scope.changed();
      }
    } catch (error) {
      throw ended ?? error;
    } finally {
      if (!dead) await closeChannel(channel, closeTimeoutMs);
      clearInterval(watching);
      die();
    }
    if (!stop.signal.aborted) throw ended ?? cause ?? new Error("the channel closed with its connection");
  }

  async function keepAlive(): Promise<void> {
    let failures = 0;
    while (!stop.signal.aborted) {
      const startedAt = performance.now();
      try {
        await live();
      } catch (error) {
        problem = error as Error;
        // A lost connection is reported once, and not by each of its channels.
        if (connection.isUp()) outages.down(spec.purpose, problem);
      }
      failures = performance.now() - startedAt > HEALTHY_LIFE_MS ? 0 : failures + 1;
      if (failures > 0) await pause(backoffMs(failures, BACKOFF), stop.signal);
    }
  }

  async function close(): Promise<void> {
    scope.channels.delete(recovering);
    await spec.beforeClose?.();
    stop.abort();
    if (current !== undefined) await closeChannel(current, closeTimeoutMs);
    // A channel that is being opened sees the signal and closes itself. The limit is for a broker that does not answer.
    await endsWithin(closeTimeoutMs, lives);
    scope.changed();
  }

  let closed: Promise<void> | undefined;
  const recovering: RecoveringChannel<C> = {
    current: () => current,
    problem: () => problem,
    close: () => {
      closed ??= close();
      return closed;
    },
  };
  scope.channels.add(recovering);
  const lives = keepAlive();
  return recovering;
}

/** A request without an answer is looked at this often within its time. */
const LOOKS = 5;

/**
 * Says once that the broker leaves a request on this channel without an answer: amqplib would wait for it without end. Messages of the channel show
 * that the broker is at work, since its answer comes behind them. It counts looks, and no time: after a standstill of this process the answer may
 * be there, unread. So it may be while the connection is not read; and while the broker takes no messages, it need not answer.
 */
function watchAnswers(
  channel: Channel,
  connection: Connection,
  { answerTimeoutMs, onSilence }: { answerTimeoutMs: number; onSilence: (reason: Error) => void },
): NodeJS.Timeout {
  // The one request that is under way: amqplib sends the next one when it is answered. It is not in amqplib's types.
  const current = channel as { reply?: unknown };
  let asked: unknown;
  let looks = 0;
  channel.on("delivery", () => {
    looks = 0;
  });
  return setInterval(() => {
    const { reply } = current;
    const isWaiting = reply && reply === asked && connection.restingMs() === 0 && !connection.isBlocked();
    asked = reply;
    looks = isWaiting ? looks + 1 : 0;
    if (looks === LOOKS) onSilence(new Error(`the broker did not answer a request within ${answerTimeoutMs} ms`));
  }, answerTimeoutMs / LOOKS).unref();
}

/**
 * Closes a channel, even a dead one. amqplib's `close()` throws on a dead one, and never settles if the connection
 * dies; the "close" event always comes. Returns whether it came in time.
 */
function closeChannel(channel: Channel, timeoutMs: number): Promise<boolean> {
  const closed = new Promise<void>((resolve) => channel.once("close", () => resolve()));
  const asked = channel.close().then(
    () => closed,
    () => undefined,
  );
  return endsWithin(timeoutMs, Promise.race([closed, asked]));
}
