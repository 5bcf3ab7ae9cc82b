export const DAY_MS = 24 * 60 * 60_000;

/** How many days are made ahead. Every publisher may be down for this long, or the tables may be locked. */
const DAYS_AHEAD = 8;

/**
 * The days in UTC that need partitions: from the beginning of the window, and a day before it, to {@link DAYS_AHEAD}. Rows of days
 * without partitions are not lost: `*_rest` takes them, and they move when their day is made.
 */
export function daysToMake({ now, windowMs }: { now: Date; windowMs: number }): string[] {
  const from = now.getTime() - windowMs - DAY_MS;
  const to = now.getTime() + DAYS_AHEAD * DAY_MS;
  const days: string[] = [];
  for (let start = startOf(dayOf(new Date(from))).getTime(); start <= to; start += DAY_MS) {
    days.push(dayOf(new Date(start)));
  }
  return days;
}

/** "2026-11-21" of a time in UTC. */
export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

export function startOf(day: string): Date {
  return new Date(`${day}T00:00:00.000Z`);
}

/** The time at which a day ends. */
export function endOf(day: string): Date {
  return new Date(startOf(day).getTime() + DAY_MS);
}
