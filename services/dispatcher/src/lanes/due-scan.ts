import { setTimeout as sleep } from "node:timers/promises";
import type { Queries } from "@herald/common/database/queries";
import { shrinkingPages } from "@herald/common/database/shrinking";
import type { Clock } from "@herald/common/runtime/clock";
import { type DueEndpoint, type DuePage, type DuePageQuery, findDueEndpoints } from "../sql/find-due-endpoints.ts";

/** Searches PostgreSQL for endpoints with due deliveries: retries, and new ones whose hint was lost. */
export interface DueScan {
  /** Passes all enabled endpoints once, and hands over those with due deliveries. */
  scan(onDue: (endpoint: DueEndpoint) => void, signal: AbortSignal): Promise<void>;
  /** The time before which an endpoint has no due rows that are alive, but for those that the next full scan finds. */
  since(endpointId: string): Date;
}

/** Enabled endpoints that one statement probes; each costs one probe of an index. */
const PAGE_SIZE = 5_000;

/** How far the lower bound stays behind. A row appears later than its time says, by as long as its transaction took. */
const MARGIN_MS = 10_000;

/** How often a scan begins at the beginning of time, for the rows that the lower bound missed. */
const FULL_SCAN_EVERY_MS = 60_000;

/** A scan of very many endpoints rests this many times its own duration, so that it takes a quarter of one connection at the most. */
const REST_FACTOR = 3;

const BEGINNING = new Date(0);

/**
 * Remembers, for each endpoint that was seen due, its first due row that was alive, and for all others the time of the last
 * complete scan. Later scans, and claims, begin there: see find-due-endpoints.ts.
 */
export function createDueScan({ queries, clock }: { queries: Queries; clock: Clock }): DueScan {
  const inPages = shrinkingPages({ max: PAGE_SIZE });
  let known = new Map<string, Date>();
  let completeTo: Date | undefined;
  let fullScanMs = Number.NEGATIVE_INFINITY;

  function since(endpointId?: string): Date {
    if (completeTo === undefined) return BEGINNING;
    const seen = endpointId === undefined ? undefined : known.get(endpointId);
    // PostgreSQL's clock may have been set back since.
    const bound = Math.min(completeTo.getTime(), clock.now().getTime(), seen?.getTime() ?? Number.POSITIVE_INFINITY);
    return new Date(bound - MARGIN_MS);
  }

  /** Where a page may begin to look, of the endpoints that it can contain. */
  function knownAfter(after: string | null): { endpointId: string; since: Date }[] {
    return [...known.keys()]
      .filter((endpointId) => after === null || endpointId > after)
      .sort()
      .slice(0, PAGE_SIZE)
      .map((endpointId) => ({ endpointId, since: since(endpointId) }));
  }

  return {
    since,
    async scan(onDue, signal) {
      const begunMs = clock.monotonicMs();
      // In real time, as the rest is.
      const begun = performance.now();
      const now = clock.now();
      const full = begunMs - fullScanMs >= FULL_SCAN_EVERY_MS;
      const bound = full ? BEGINNING : since();
      const seen = new Map<string, Date>();
      let after: string | null = null;
      do {
        const from: Omit<DuePageQuery, "limit"> = { now, since: bound, known: full ? [] : knownAfter(after), after };
        const page: DuePage = await inPages((limit) => findDueEndpoints(queries, { ...from, limit }));
        for (const endpoint of page.due) {
          seen.set(endpoint.endpointId, endpoint.dueAt);
          // At once, since the claim that follows begins there.
          known.set(endpoint.endpointId, endpoint.dueAt);
          onDue(endpoint);
        }
        after = page.next;
      } while (after !== null && !signal.aborted);
      if (signal.aborted) return;
      known = seen;
      completeTo = now;
      if (full) fullScanMs = begunMs;
      await sleep(REST_FACTOR * (performance.now() - begun), undefined, { signal }).catch(() => {});
    },
  };
}
