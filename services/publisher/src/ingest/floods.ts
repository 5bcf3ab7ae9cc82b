import type { Inspector } from "@herald/common/broker/broker";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";

interface Parts {
  inspector: Pick<Inspector, "depthOf">;
  clock: Pick<Clock, "monotonicMs">;
  log: Pick<Log, "info">;
}

/** After so many messages of a queue it is looked at. Fewer say too little about whose messages wait behind them. */
export const LOOK_EVERY = 64;

/** The part of these messages that one organization has in a flood. */
const MOST = 3 / 4;

/**
 * How many messages wait in the queue besides in a flood. To move them takes a way through the broker besides that to PostgreSQL, so fewer,
 * which are stored in a few tenths of a second, stay where they are: with what the process holds, an organization may emit some 1,000 events
 * at once.
 */
export const FLOOD = 500;

/** For how long messages of a flood go behind, after the last look that found many waiting. So a flood does not begin and end with each look. */
export const STAY_MS = 1_000;

/** For how long an organization counts as a neighbour after an event of its own. */
export const NEIGHBOUR_MS = 60 * 60_000;

interface Bucket {
  /** Of the messages since the last look: how many, and how many of each organization. */
  seen: number;
  seenOf: Map<string, number>;
  /** The two organizations that were seen last, the latest first, and when. */
  latest: { organization: string; atMs: number }[];
  /** The organizations whose messages go behind, and until when. */
  floods: Map<string, number>;
  looking: boolean;
}

/**
 * Says which messages of the inbox go behind: to the second queue of their bucket, so that the messages after them are reached.
 *
 * A flood is an organization that has most of a queue's messages, while hundreds more wait in the queue and neighbours have used it lately. A queue
 * is in the order of its messages' arrival, so the last ones that came out of it say whose wait in it. An organization that is alone floods
 * nobody, and nothing of it is moved: it has whole batches.
 *
 * From then on all of its messages go behind, while hundreds wait in the queue and for a second after, whatever waits in the second queue: what
 * comes slowly makes bundles of few events each, which fill no batch.
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

  /** The organization that has most of the messages since the last look, where others have used the queue lately. */
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
    /** To be asked once for each message of an inbox queue, when it arrives. */
    goesBehind(queue: string, organization: string): boolean {
      const bucket = bucketOf(queue);
      note(bucket, organization);
      mayLook(queue, bucket);
      return (bucket.floods.get(organization) ?? 0) > clock.monotonicMs();
    },
  };
}
