import { setTimeout as sleep } from "node:timers/promises";
import type { Queries } from "@herald/common/database/queries";
import { repeat } from "@herald/common/runtime/repeat";
import type { Log } from "@herald/common/telemetry/log";
import type { DispatcherMetrics } from "../metrics.ts";
import { beat } from "../sql/beat.ts";
import { leave } from "../sql/leave.ts";
import type { Share } from "./endpoint-share.ts";
import { createMembership, NOTHING } from "./membership.ts";

interface Parts {
  queries: Queries;
  metrics: Pick<DispatcherMetrics, "dispatchers">;
  log: Log;
}

export interface MembersOptions {
  /** Of its row in the table of processes. */
  id: string;
  /** Attempts that an endpoint may have at once, over all dispatchers. */
  cap: number;
  /** Whether no endpoint has more attempts under way in this process than this says. */
  isWithin: (capOf: (endpointId: string) => number) => boolean;
  /** Since when this process reaches no receiver at all; null while it does. */
  outageSince: () => Date | null;
  /** Told with each beat whether a restore holds all attempts. */
  onHold: (isHeld: boolean) => void;
}

/** The dispatchers that are at work, this one among them, which share out each endpoint's attempts: see membership.ts. */
export interface Members {
  /** What this process has of the endpoint's attempts now. */
  shareOf(endpointId: string): Share;
  /** Resolves when this process has its share for the first time; never where it is stopped before. */
  readonly begun: Promise<void>;
  hasBegun(): boolean;
  /** Tells the others that this process has ended its last attempt. Never rejects: they would find out by themselves. */
  leave(): Promise<void>;
}

const BEAT_INTERVAL_MS = 1_000;

/** While somebody waits for what a beat says. */
const UNSETTLED_INTERVAL_MS = 250;

/** A stop doesn't wait longer than this for PostgreSQL. */
const LEAVE_TIMEOUT_MS = 1_000;

export function joinMembers(parts: Parts, { id, cap, isWithin, outageSince, onHold }: MembersOptions): Members {
  const { queries, metrics, log } = parts;
  const membership = createMembership(id, cap);
  // What lapses while PostgreSQL does not answer, lapses in real time: the others watch it by PostgreSQL's clock.
  const elapsedMs = () => performance.now();
  let outSince: Date | null = null;
  let announceBegun = () => {};
  const begun = new Promise<void>((resolve) => {
    announceBegun = resolve;
  });

  async function beatOnce(): Promise<void> {
    const sentMs = elapsedMs();
    const unseenMs = membership.unseenMs(sentMs);
    // The others take over its share, so first its last attempt ends, and nothing begins from here on.
    const since = outageSince();
    outSince = since !== null && isWithin(() => 0) ? since : null;
    const answer = await beat(queries, { id, agreedAt: membership.agreedAt(), outageSince: outSince, unseenMs });
    // Before the first share: nothing begins without one.
    onHold(answer.isHeld);
    const had = membership.hasBegun();
    membership.heard(answer, sentMs, isWithin);
    metrics.dispatchers.set(membership.size());
    if (membership.hasBegun()) announceBegun();
    else if (had && outSince === null) log.warn("the other dispatchers took this one for dead; it joins them again");
  }

  let failed = false;
  const beating = repeat(
    async (signal) => {
      // The first answer says nothing yet of those who came in the same moment; the second one does.
      if (membership.size() === 0) await beatOnce();
      await beatOnce();
      failed = false;
      while (membership.isUnsettled() && outSince === null && !signal.aborted) {
        await sleep(UNSETTLED_INTERVAL_MS, undefined, { signal }).catch(() => {});
        if (!signal.aborted) await beatOnce();
      }
    },
    {
      intervalMs: BEAT_INTERVAL_MS,
      onFailure(error) {
        if (!failed) log.warn("the other dispatchers can't be asked; nothing new begins while this lasts", { error });
        failed = true;
      },
    },
  );

  async function tell(): Promise<void> {
    await beating.stop();
    await leave(queries, id);
  }

  return {
    shareOf: (endpointId) => (outSince === null ? membership.shareOf(endpointId, elapsedMs()) : NOTHING),
    begun,
    hasBegun: membership.hasBegun,
    async leave() {
      const left = tell().catch((error) => log.warn("the other dispatchers couldn't be told of the end", { error }));
      await Promise.race([left, sleep(LEAVE_TIMEOUT_MS, undefined, { ref: false })]);
    },
  };
}
