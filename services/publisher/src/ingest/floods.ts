import type { Inspector } from "@herald/common/broker/broker";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";

interface Parts {
  inspector: Pick<Inspector, "depthOf">;
  clock: Pick<Clock, "monotonicMs">;
  log: Pick<Log, "info">;
}

/** A queue is looked at after this many of its messages. Fewer say too little about whose messages wait behind them. */
export const LOOK_EVERY = 64;

/** The share of these messages that one organization has in a flood. */
const MOST = 3 / 4;

/**
 * Messages that wait in the queue during a flood. Moving an event costs an extra trip through the broker, so a smaller backlog, which is stored in a
 * few tenths of a second, stays. With what the process holds, an organization may emit some 1,000 events at once.
 */
export const FLOOD = 500;

/** A flood lasts this long after the last look that found many waiting messages, so that it does not begin and end with each look. */
export const STAY_MS = 1_000;

/** An organization counts as a neighbour for this long after its last event. */
export const NEIGHBOUR_MS = 60 * 60_000;

interface Bucket {
  /** The messages since the last look: all of them, and those of each organization. */
  seen: number;
  seenOf: Map<string, number>;
  /** The two organizations that were seen last, the latest first, and when. */
  latest: { organization: string; atMs: number }[];
  /** The organizations whose messages go behind, and until when. */
  floods: Map<string, number>;
  looking: boolean;
}

/**
 * Decides which messages of the inbox go behind: to the second queue of their bucket, so that the messages after them are reached.
 *
 * A flood is an organization that has most of a queue's messages, while hundreds more wait in the queue and neighbours have used it lately. A queue
 * keeps the order of arrival, so the last messages that came out of it tell whose messages wait in it. An organization that is alone delays no other,
 * and none of its events is moved: it has whole batches.
 *
 * From then on all of its messages go behind, while hundreds wait in the queue and for a second after, however many wait in the second queue: events
 * that come slowly make bundles of few events each, which fill no batch.
 */
export function watchFloods({ inspector, clock, log }: Parts) {
  const buckets = new Map<string, Bucket>();

  function bucketOf(queue: string): Bucket {
    let bucket = buckets.get(queue);
    if (bucket === undefined) {
      bucket = { seen: 0, seenOf: new Map(), latest: [], floods: new Map(), looking: false };
      buckets.set(queue, bucket);
    }
    return bucket;
  }

  function note(bucket: Bucket, organization: string): void {
    const other = bucket.latest.find((each) => each.organization !== organization);
    const latest = { organization, atMs: clock.monotonicMs() };
    bucket.latest = other ? [latest, other] : [latest];
    bucket.seen++;
    bucket.seenOf.set(organization, (bucket.seenOf.get(organization) ?? 0) + 1);
  }

  /** The organization that has most of the messages since the last look, if others have used the queue lately. */
  function suspectOf({ seen, seenOf, latest }: Bucket): string | undefined {
    const sinceMs = clock.monotonicMs() - NEIGHBOUR_MS;
    for (const [organization, count] of seenOf) {
      const hasNeighbours = latest.some((each) => each.organization !== organization && each.atMs > sinceMs);
      if (count >= MOST * seen && hasNeighbours) return organization;
    }
    return undefined;
  }

  async function look(queue: string, { floods }: Bucket, suspect: string | undefined): Promise<void> {
    const { messages: waiting } = await inspector.depthOf(queue);
    const nowMs = clock.monotonicMs();
    for (const [organization, untilMs] of floods) {
      if (untilMs <= nowMs) floods.delete(organization);
      else if (waiting >= FLOOD) floods.set(organization, nowMs + STAY_MS);
    }
    if (suspect === undefined || waiting < FLOOD || floods.has(suspect)) return;
    floods.set(suspect, nowMs + STAY_MS);
    log.info("a flood of events goes behind those of other organizations", { organizationId: suspect, queue, waiting });
  }

  function mayLook(queue: string, bucket: Bucket): void {
    if (bucket.seen < LOOK_EVERY) return;
    const suspect = suspectOf(bucket);
    bucket.seen = 0;
    bucket.seenOf.clear();
    if (bucket.looking || (suspect === undefined && bucket.floods.size === 0)) return;
    bucket.looking = true;
    look(queue, bucket, suspect)
      // The broker is away, and nothing arrives either.
      .catch(() => undefined)
      .finally(() => {
        bucket.looking = false;
      });
  }

  return {
    /** Must be called once for each message of an inbox queue, when it arrives. */
    goesBehind(queue: string, organization: string): boolean {
      const bucket = bucketOf(queue);
      note(bucket, organization);
      mayLook(queue, bucket);
      return (bucket.floods.get(organization) ?? 0) > clock.monotonicMs();
    },
  };
}
