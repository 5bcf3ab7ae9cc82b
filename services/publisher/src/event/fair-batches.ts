import { Counts } from "@herald/common/runtime/counts";
import type { InboxMessage } from "./read-event.ts";

/** The part of an {@link InboxMessage} that decides its turn. */
type Item = { organization: string; message: { content: { byteLength: number } } };

/**
 * Bytes of messages in a batch; a batch of one event may have more. Only running batches are decoded to text, of which several copies exist on the way
 * to PostgreSQL; and events of 256 KiB must not add up to a statement of a hundred megabytes.
 */
export const MAX_BATCH_BYTES = 4 * 1024 ** 2;

/** After a batch of this many events the next one begins no sooner than {@link GATHER_MS} later: many events come, and each batch costs a statement. */
const MANY_EVENTS = 8;

/** In milliseconds. Events that are stored after their attempts wait longer, and in a crowd the others wait for their turn anyway. */
const GATHER_MS = 25;

/**
 * Runs events in batches of as many as are there. While no batch runs, an event starts one at the end of the current turn of the event loop, so that a
 * single event waits for no timer. While many come, they gather.
 *
 * A batch takes one event of each organization in turn until it is full. So if an event is the third one of its organization when it comes, every other
 * organization gets at most three turns before it. One more batch runs for organizations without a running one, and takes only theirs: beside a flood,
 * whose statements are large, their events wait for none of them. `isApart` is false if there is no such batch. `run` never throws.
 */
export function fairBatches<Event extends Item = InboxMessage>(
  run: (batch: readonly Event[]) => Promise<void>,
  { maxItems, isApart = true, gathers = false }: { maxItems: number; isApart?: boolean; gathers?: boolean },
) {
  /** The waiting events of each organization, in the order of the organizations' turns. */
  const waiting = new Map<string, Event[]>();
  const running = new Set<Promise<void>>();
  const runningOf = new Counts<string>();
  let scheduled = false;
  /** By performance.now(). */
  let notBeforeMs = 0;

  function isAnyIdle(): boolean {
    for (const organization of waiting.keys()) if (runningOf.of(organization) === 0) return true;
    return false;
  }

  function mayStart(): boolean {
    if (waiting.size === 0) return false;
    return running.size === 0 || (isApart && running.size === 1 && isAnyIdle());
  }

  function schedule(): void {
    if (scheduled || !mayStart()) return;
    scheduled = true;
    const waitMs = notBeforeMs - performance.now();
    if (waitMs > 0) setTimeout(startNext, waitMs);
    else setImmediate(startNext);
  }

  function startNext(): void {
    scheduled = false;
    // The waiting events may have been dropped.
    if (mayStart()) start();
    schedule();
  }

  function start(): void {
    const batch = take();
    if (gathers && batch.length >= MANY_EVENTS) notBeforeMs = performance.now() + GATHER_MS;
    const organizations = new Set(batch.map(({ organization }) => organization));
    for (const each of organizations) runningOf.add(each);
    const done = run(batch).finally(() => {
      running.delete(done);
      for (const each of organizations) runningOf.add(each, -1);
      schedule();
    });
    running.add(done);
  }

  function take(): Event[] {
    const onlyIdle = isAnyIdle();
    const batch: Event[] = [];
    let bytes = 0;
    for (const [organization, events] of waiting) {
      if (onlyIdle && runningOf.of(organization) > 0) continue;
      const [event] = events as [Event];
      bytes += event.message.content.byteLength;
      if (batch.length === maxItems || (batch.length > 0 && bytes > MAX_BATCH_BYTES)) break;
      batch.push(event);
      events.shift();
      // The organization goes behind the others; this loop reaches it again.
      waiting.delete(organization);
      if (events.length > 0) waiting.set(organization, events);
    }
    return batch;
  }

  return {
    add(event: Event): void {
      const { organization } = event;
      const events = waiting.get(organization);
      if (events) events.push(event);
      else waiting.set(organization, [event]);
      schedule();
    },
    drop(): Event[] {
      const dropped = [...waiting.values()].flat();
      waiting.clear();
      return dropped;
    },
    isRunning: () => running.size > 0,
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
