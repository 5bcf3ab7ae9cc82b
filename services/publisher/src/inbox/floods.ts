import type { Inspector } from "@herald/common/broker/broker";
import type { Names } from "@herald/common/broker/topology";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import type { InboxMessage } from "../event/read-event.ts";

/** What this process holds of a sixteenth from one of its queues, and whose event came last. */
type Share = { count: number; bytes: number; organization: string };

interface Turned {
  /** When this process last held a flood of it, or learned of it. */
  atMs: number;
  /** Whether this process has bound it. Another one may have, and be gone. */
  isOurs: boolean;
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
 * the state that there is: making and removing it can be repeated by any publisher, and the broker keeps it.
 *
 * A sixteenth of a bucket has a flood if this process holds `most` of its events, or `mostBytes`: of large events it holds fewer.
 */
export function watchFloods(
  { inspector, names, clock, log }: { inspector: Inspector; names: Names; clock: Clock; log: Log },
  { most, mostBytes }: { most: number; mostBytes: number },
) {
  const { behindQueues, floodsExchange } = names;
  /** What this process holds from the first queues and from the second ones, by the two digits of the routing key: "a.7". */
  const first = new Map<string, Share>();
  const behind = new Map<string, Share>();
  /** The sixteenths that are turned as far as this process knows. */
  const turned = new Map<string, Turned>();
  /** The sixteenths about which the broker has been asked. */
  const asked = new Map<string, Promise<void>>();

  const digitsOf = ({ message }: InboxMessage) => KEY.exec(message.routingKey)?.[1];
  const behindQueueOf = (digits: string) => behindQueues[Number.parseInt(digits, 16)] as string;
  const sharesOf = (digits: string, { message }: InboxMessage) =>
    message.queue === behindQueueOf(digits) ? behind : first;

  const isFlood = (share: Share | undefined): share is Share =>
    share !== undefined && (share.count >= most || share.bytes >= mostBytes);

  /** What the broker has to be asked about a sixteenth now. */
  function next(digits: string): (() => Promise<void>) | undefined {
    const known = turned.get(digits);
    const flood = [first, behind].map((shares) => shares.get(digits)).find(isFlood);
    if (flood && known) known.atMs = clock.monotonicMs();
    // Again with each look, in case another publisher has turned it back. What still comes by the second queue alone delays no neighbour.
    if (flood && (known?.isOurs || isFlood(first.get(digits)))) return () => turn(digits, flood);
    return known && clock.monotonicMs() - known.atMs >= STAY_MS ? () => turnBack(digits, known) : undefined;
  }

  async function turn(digits: string, { organization: organizationId }: Share): Promise<void> {
    const queue = behindQueueOf(digits);
    await inspector.bind(queue, floodsExchange, `*.${digits}`);
    // The first event may come by the second queue before the answer to the binding.
    if (!turned.get(digits)?.isOurs)
      log.info("a flood of events goes to the second queue of its bucket", { organizationId, queue });
    turned.set(digits, { atMs: clock.monotonicMs(), isOurs: true });
  }

  async function turnBack(digits: string, { isOurs }: Turned): Promise<void> {
    const queue = behindQueueOf(digits);
    // Later events would pass those that still wait there. They may, if those wait behind another flood.
    const isBehindAnother = [...behind].some(([other, share]) => behindQueueOf(other) === queue && isFlood(share));
    if (!isBehindAnother && (await inspector.depthOf(queue)).messages > 0) return;
    await inspector.unbind(queue, floodsExchange, `*.${digits}`);
    turned.delete(digits);
    if (isOurs) log.info("events go to the first queue of their bucket again", { queue, sixteenth: digits });
  }

  return {
    /** Must be called for each event that this process holds from now on. Returns whether a flood has begun: then `look` is due. */
    came(incoming: InboxMessage): boolean {
      const digits = digitsOf(incoming);
      if (digits === undefined) return false;
      const { message, organization } = incoming;
      const shares = sharesOf(digits, incoming);
      const share = shares.get(digits) ?? { count: 0, bytes: 0, organization };
      const was = isFlood(share);
      share.count++;
      share.bytes += message.content.byteLength;
      share.organization = organization;
      shares.set(digits, share);
      if (shares === behind && !turned.has(digits)) turned.set(digits, { atMs: clock.monotonicMs(), isOurs: false });
      return isFlood(share) && !was;
    },
    /** Must be called once for each of these events when the process no longer holds it. */
    over(incoming: InboxMessage): void {
      const digits = digitsOf(incoming);
      if (digits === undefined) return;
      const shares = sharesOf(digits, incoming);
      const share = shares.get(digits);
      if (!share) return;
      share.count--;
      share.bytes -= incoming.message.content.byteLength;
      if (share.count === 0) shares.delete(digits);
    },
    /**
     * Turns what floods, and turns back what no longer does: each by itself, so that none waits for the broker's answer about another one. Without an
     * answer, a later look asks again. Resolves when all are answered.
     */
    async look(): Promise<void> {
      for (const digits of new Set([...first.keys(), ...behind.keys(), ...turned.keys()])) {
        const ask = asked.has(digits) ? undefined : next(digits);
        if (!ask) continue;
        const answered = ask().catch(() => undefined);
        asked.set(
          digits,
          answered.finally(() => asked.delete(digits)),
        );
      }
      await Promise.all(asked.values());
    },
  };
}
