export const DAY_MS = 24 * 60 * 60_000;

/** How many days are made ahead. Every publisher may be down for this long: without a partition nothing can be stored. */
const DAYS_AHEAD = 8;

/** How many partitions make up what is kept. A statement locks all of them, also those that it has no need of. */
const KEPT_PARTITIONS = 45;

/** The days of a partition in UTC, as "2026-11-21". */
export interface Partition {
  first: string;
  /** The day after the last one. */
  end: string;
}

/** For how long events are delivered, and how long after that they are kept, in milliseconds. */
export interface Keeping {
  windowMs: number;
  keepMs: number;
}

/**
 * The partitions that are missing: from a day before the window to {@link DAYS_AHEAD}. They have so many days that there are never
 * more than some fifty, however long `keepMs` is. Each begins where one that is there ends, and ends where the next one begins, since
 * those may have been made with another `keepMs`.
 */
export function missingPartitions(
  there: readonly Partition[],
  { now, windowMs, keepMs }: Keeping & { now: Date },
): Partition[] {
  const days = Math.ceil(keepMs / DAY_MS / KEPT_PARTITIONS);
  const last = dayOf(new Date(now.getTime() + DAYS_AHEAD * DAY_MS));
  const missing: Partition[] = [];
  let first = dayOf(new Date(now.getTime() - windowMs - DAY_MS));
  while (first <= last) {
    const here = there.find((each) => each.first <= first && first < each.end);
    if (here) {
      first = here.end;
      continue;
    }
    const later = there.map((each) => each.first).filter((each) => each > first);
    const end = [dayOf(new Date(startOf(first).getTime() + days * DAY_MS)), ...later].sort()[0] as string;
    missing.push({ first, end });
    first = end;
  }
  return missing;
}

/** "2026-11-21" of a time in UTC. */
export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** The time at which a day begins. */
export function startOf(day: string): Date {
  return new Date(`${day}T00:00:00.000Z`);
}
