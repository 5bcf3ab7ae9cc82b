import type { Inspector } from "@herald/common/broker/broker";
import type { Names } from "@herald/common/broker/topology";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { InboxMessage } from "./read-event.ts";

interface Parts {
  inspector: Inspector;
  names: Pick<Names, "behindQueues" | "floodsExchange">;
  clock: Pick<Clock, "monotonicMs">;
  log: Pick<Log, "info">;
}

export interface FloodOptions {
  /** A sixteenth of a bucket has a flood if this process holds this many of its events. */
  most: number;
  /** The same, in bytes: of large events the process holds fewer. */
  mostBytes: number;
}

/** What this process holds of a sixteenth, and whose event came last. */
interface Share {
  count: number;
  bytes: number;
  organization: string;
}

/** A sixteenth stays turned for this long after its last flood: the next flood of the same organization delays no neighbour. */
export const STAY_MS = 60_000;

/** A routing key as emitters make it. Its last two digits are the bucket and the sixteenth of the bucket. */
const KEY = /^[^.]*\.([0-9a-f]\.[0-9a-f])$/;

/**
 * Turns the floods of organizations to the second queues of their buckets.
 *
 * A queue keeps the order of arrival, and a publisher holds a bounded number of its messages. So an organization that has most of these delays its
 * neighbours. From then on the broker itself takes the events of its sixteenth of the bucket to the second queue, by one binding. The binding is all
 * the state that there is: making and removing it can be repeated by any publisher, and the broker keeps it meanwhile.
 */
export function watchFloods({ inspector, names, clock, log }: Parts, { most, mostBytes }: FloodOptions) {
  const { behindQueues, floodsExchange } = names;
  /** What this process holds of each sixteenth, by the two digits of the routing key: "a.7". */
  const shares = new Map<string, Share>();
  /** The sixteenths that are turned as far as this process knows, and when it last held a flood of them, or learned of them. */
  const turned = new Map<string, number>();

  const digitsOf = ({ message }: InboxMessage) => KEY.exec(message.routingKey)?.[1];
  const behindQueueOf = (digits: string) => behindQueues[Number.parseInt(digits, 16)] as string;

  const isFlood = ({ count, bytes }: Share) => count >= most || bytes >= mostBytes;

  async function turn(digits: string, { organization: organizationId }: Share): Promise<void> {
    const queue = behindQueueOf(digits);
    // Again with each look, in case another publisher has turned it back.
    await inspector.bind(queue, floodsExchange, `*.${digits}`);
    if (!turned.has(digits))
      log.info("a flood of events goes to the second queue of its bucket", { organizationId, queue });
    turned.set(digits, clock.monotonicMs());
  }

  async function turnBack(digits: string): Promise<void> {
    const queue = behindQueueOf(digits);
    // Later events would pass those that still wait there.
    if ((await inspector.depthOf(queue)).messages > 0) return;
    await inspector.unbind(queue, floodsExchange, `*.${digits}`);
    turned.delete(digits);
    log.info("events go to the first queue of their bucket again", { queue, sixteenth: digits });
  }

  return {
    /** Must be called for each event that this process holds from now on. Returns whether a flood has begun: then `look` is due. */
    came(incoming: InboxMessage): boolean {
      const digits = digitsOf(incoming);
      if (digits === undefined) return false;
      const { message, organization } = incoming;
      const share = shares.get(digits) ?? { count: 0, bytes: 0, organization };
      const was = isFlood(share);
      share.count++;
      share.bytes += message.content.byteLength;
      share.organization = organization;
      shares.set(digits, share);
      // Another publisher has turned it, which may be gone.
      if (message.queue === behindQueueOf(digits) && !turned.has(digits)) turned.set(digits, clock.monotonicMs());
      return isFlood(share) && !was;
    },
    /** Must be called once for each of these events when the process no longer holds it. */
    over(incoming: InboxMessage): void {
      const digits = digitsOf(incoming);
      const share = digits && shares.get(digits);
      if (!share) return;
      share.count--;
      share.bytes -= incoming.message.content.byteLength;
      if (share.count === 0) shares.delete(digits);
    },
    /** Turns what floods, and turns back what no longer does. @throws if the broker is away */
    async look(): Promise<void> {
      for (const [digits, share] of shares) if (isFlood(share)) await turn(digits, share);
      for (const [digits, atMs] of turned) if (clock.monotonicMs() - atMs >= STAY_MS) await turnBack(digits);
    },
  };
}
