import { ARRIVAL } from "@herald/common/broker/arrival";
import type { Clock } from "@herald/common/runtime/clock";
import { fairBatches } from "../event/fair-batches.ts";
import type { FanOutItem } from "../event/fan-out.ts";
import type { InboxMessage } from "../event/read-event.ts";
import { MAX_BODY_BYTES } from "../hand-over.ts";
import type { ForOwners } from "../sql/rows.ts";
import { createOnArrival } from "./on-arrival.ts";

interface Parts {
  clock: Clock;
  handOver: (made: ForOwners) => void;
  /** Reads and judges an event; undefined if it is not to be stored. */
  read: (incoming: InboxMessage) => FanOutItem | undefined;
  store: (incoming: InboxMessage) => void;
}

/** The most events at once that are handed over and not stored yet, about. */
const MOST_PENDING = 2_500;

/** Events that are handed over in one turn of the event loop. */
const MAX_ARRIVING = 100;

/** The largest message that may be handed over before it is stored. A larger event is not read before its batch runs. */
const MAX_SMALL_BYTES = MAX_BODY_BYTES + 2 * 1024;

/**
 * Takes events when they arrive, and has owners attempt them before they are stored, if nothing is unusual about the message (consume-events.ts),
 * its size, or the event, its endpoints and PostgreSQL (on-arrival.ts). Each waits for its results ({@link createPendingWindow}), and is stored then.
 */
export function createArrival({ clock, handOver, read, store }: Parts) {
  const onArrival = createOnArrival({ clock, handOver });
  const pending = createPendingWindow<InboxMessage>(store, { most: MOST_PENDING, ...ARRIVAL });
  /** If a batch waits for room, organizations without a running batch have another one. */
  const arriving = fairBatches(handOverArrived, { maxItems: MAX_ARRIVING });

  /** Hands over the events that can be, and stores the rest at once. Resolves when there is room for more. */
  async function handOverArrived(batch: readonly InboxMessage[]): Promise<void> {
    const arrivedAt = clock.now();
    const arrived = batch.flatMap((each) => {
      // The owner leaves an event alone that came more than a second ago: it should be stored by then.
      each.arrivedAt = arrivedAt;
      const item = read(each);
      if (item === undefined) return [];
      each.event = item.event;
      return [{ each, event: item.event }];
    });
    const handedOver = onArrival.handOver(arrived.map(({ event }) => event));
    for (const { each, event } of arrived) {
      event.handedOver = handedOver.has(event);
      if (event.handedOver) pending.add(each);
      else store(each);
    }
    await pending.room();
  }

  return {
    isSmall: ({ message }: InboxMessage) => message.content.byteLength <= MAX_SMALL_BYTES,
    add: (incoming: InboxMessage) => arriving.add(incoming),
    over: pending.over,
    storing: onArrival.storing,
    drop: () => [...arriving.drop(), ...pending.drop()],
  };
}

/**
 * The pending window: events that were handed over before they are stored. Each waits, so that its owner stores the delivery first, with its result:
 * a delivery without a result by then costs a row more. If more events come than owners can attempt, more are handed over only when some are stored.
 *
 * An event waits for `storedAfterMs`; the oldest one for `togetherMs` more, so that one statement stores more of them.
 */
export function createPendingWindow<Item>(
  store: (item: Item) => void,
  { most, storedAfterMs, togetherMs }: { most: number; storedAfterMs: number; togetherMs: number },
) {
  /** In the order of their arrival. */
  const waiting: { item: Item; sinceMs: number }[] = [];
  /** Those that wait, and those that are being stored. */
  const pending = new Set<Item>();
  const wanting: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;

  function setTimer(): void {
    clearTimeout(timer);
    const [oldest] = waiting;
    if (oldest === undefined) return;
    timer = setTimeout(release, Math.max(0, oldest.sinceMs + storedAfterMs + togetherMs - performance.now()));
  }

  function release(): void {
    const now = performance.now();
    const young = waiting.findIndex(({ sinceMs }) => now - sinceMs < storedAfterMs);
    for (const { item } of waiting.splice(0, young === -1 ? waiting.length : Math.max(1, young))) store(item);
    setTimer();
  }

  return {
    add(item: Item): void {
      pending.add(item);
      waiting.push({ item, sinceMs: performance.now() });
      if (waiting.length === 1) setTimer();
    },
    /** The event is stored, or comes again. */
    over(item: Item): void {
      pending.delete(item);
      if (pending.size < most) for (const resolve of wanting.splice(0)) resolve();
    },
    /** Resolves when more may be handed over. */
    async room(): Promise<void> {
      if (pending.size >= most) await new Promise<void>((resolve) => wanting.push(resolve));
    },
    drop(): Item[] {
      const dropped = waiting.splice(0).map(({ item }) => item);
      setTimer();
      return dropped;
    },
  };
}
