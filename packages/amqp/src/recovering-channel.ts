import type { Channel } from "amqplib";
import { backoffMs } from "./backoff.ts";
import type { Connection } from "./connection.ts";
import { endsWithin, pause } from "./deadline.ts";
import type { Outages } from "./outages.ts";

/** A channel that is opened and set up anew whenever it dies, until it is closed. */
export interface KeptChannel {
  /** Open and set up. */
  isOpen(): boolean;
  /**
   * Ends it for good; further calls wait for the first.
   *
   * @param farewell what to do with a channel that is open before it is closed
   */
  close(farewell?: () => Promise<void>): Promise<void>;
}

/** What channels live on. */
export interface Home {
  connection: Connection;
  outages: Outages;
  /** Every kept channel that has not been closed: a part that works when all of them are open. */
  channels: Set<KeptChannel>;
  /** Called after each change of `channels`, and of a channel's `isOpen()`. */
  changed(): void;
}

/** What a channel is for. */
export interface Role<C extends Channel> {
  /** Names it in logs: "consumer of herald.events.inbox". */
  purpose: string;
  open(): Promise<C>;
  /**
   * Makes a fresh channel ready for its work. Runs again for every new channel, so it declares all that it relies on.
   *
   * @param lose ends this channel, for a reason that only the role sees, and so starts the next
   */
  setUp(channel: C, lose: (reason: Error) => void): Promise<void>;
  /** The channel is ready, and `isOpen()`. */
  opened?(channel: C): void;
  /** The channel is dead. Nothing that was done on it counts, before anybody else hears of it. */
  lost(): void;
}

const BACKOFF = { firstMs: 100, longestMs: 5_000 };
/** A channel that lived this long was all right: the next one is opened at once. */
const HEALTHY_LIFE_MS = 10_000;
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * Keeps one channel open over the three deaths that a channel may die: of its connection, of itself, and of what it was
 * opened for (`lose`). All three take the same way out of {@link live} and back into it, so there is one path to get right.
 */
export function keepChannel<C extends Channel>(role: Role<C>, home: Home): KeptChannel {
  const { connection, outages, channels } = home;
  const stop = new AbortController();
  let current: C | undefined;

  /** One life of the channel. @throws what ended it, except where it ended because it was told to */
  async function live(): Promise<void> {
    await connection.whenUp(stop.signal);
    if (stop.signal.aborted) return;
    const channel = await role.open();
    let cause: Error | undefined;
    let dead = false;
    let die = (): void => undefined;
    const death = new Promise<void>((resolve) => {
      die = () => {
        if (dead) return;
        dead = true;
        current = undefined;
        role.lost();
        resolve();
      };
    });
    // "error" comes before "close", and without a listener would end the process.
    channel.on("error", (error: Error) => {
      cause ??= error;
    });
    // Ahead of amqplib's own listener, which fails what is unconfirmed without saying why.
    channel.prependListener("close", die);
    try {
      await role.setUp(channel, (reason) => {
        cause ??= reason;
        void closeChannel(channel);
      });
      if (!dead && !stop.signal.aborted) {
        current = channel;
        outages.up(role.purpose);
        role.opened?.(channel);
        home.changed();
        await death;
        home.changed();
      }
    } finally {
      if (!dead) await closeChannel(channel);
      die();
    }
    if (!stop.signal.aborted) throw cause ?? new Error("the channel closed with its connection");
  }

  async function keep(): Promise<void> {
    let failures = 0;
    while (!stop.signal.aborted) {
      const startedAt = performance.now();
      try {
        await live();
      } catch (error) {
        // A lost connection speaks for all its channels.
        if (connection.isUp()) outages.down(role.purpose, error as Error);
      }
      failures = performance.now() - startedAt > HEALTHY_LIFE_MS ? 0 : failures + 1;
      if (failures > 0) await pause(backoffMs(failures, BACKOFF), stop.signal);
    }
  }

  async function close(farewell?: () => Promise<void>): Promise<void> {
    channels.delete(kept);
    const open = current;
    stop.abort();
    if (open !== undefined) {
      await farewell?.();
      await closeChannel(open);
    }
    // One that was just being opened closes itself, unless its broker does not answer.
    await endsWithin(CLOSE_TIMEOUT_MS, keeping);
    home.changed();
  }

  let closed: Promise<void> | undefined;
  const kept: KeptChannel = {
    isOpen: () => current !== undefined,
    close: (farewell) => {
      closed ??= close(farewell);
      return closed;
    },
  };
  channels.add(kept);
  const keeping = keep();
  return kept;
}

/**
 * Closes a channel, dead ones included. amqplib's `close()` throws on a dead one, and never settles where the connection
 * dies meanwhile; the "close" event always comes.
 */
async function closeChannel(channel: Channel): Promise<void> {
  const closed = new Promise<void>((resolve) => channel.once("close", () => resolve()));
  const asked = channel.close().then(
    () => closed,
    () => undefined,
  );
  await endsWithin(CLOSE_TIMEOUT_MS, Promise.race([closed, asked]));
}
