/** A receiver may ask for this much, and not for hours: a mistake in its header would hold its deliveries up for days. */
const MAX_MS = 15 * 60_000;

/** HTTP's one date format of today (IMF-fixdate). `Date.parse` alone takes almost anything for a date. */
const DATE =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * How long a receiver asks to be left alone, in milliseconds, at most a quarter of an hour.
 *
 * @param header the value of `Retry-After`: seconds, or an HTTP date
 * @param now when it came
 * @returns null where it asks for nothing, or for nothing that can be read
 */
export function retryAfterMs(header: string | undefined, now: Date): number | null {
  const ms = header === undefined ? Number.NaN : waitOf(header, now);
  return ms > 0 ? Math.min(ms, MAX_MS) : null;
}

function waitOf(header: string, now: Date): number {
  if (/^\d+$/.test(header)) return Number(header) * 1_000;
  return DATE.test(header) ? Date.parse(header) - now.getTime() : Number.NaN;
}
