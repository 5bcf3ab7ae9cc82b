import type { Verdict } from "./reconcile.ts";

/** Complaints if steady receivers noticed a fault of Herald: a failed attempt, or a delivery that came twice if that is not allowed. */
export function noticed({ figures }: Verdict, { mayRepeat }: { mayRepeat: boolean }): string[] {
  const { failedAttempts, requests, deliveries } = figures;
  const complaints: string[] = [];
  if (failedAttempts > 0) complaints.push(`${failedAttempts} attempts failed, none for a reason of the receiver's`);
  if (!mayRepeat && requests !== deliveries) complaints.push(`${deliveries} deliveries came as ${requests} requests`);
  return complaints;
}

/** The longest time without any arrival that began after `from` and before `until`; all in milliseconds. Pure. */
export function longestPauseAfter(arrivals: readonly number[], from: number, until: number): number {
  let longest = 0;
  let last = from;
  for (const at of [...arrivals].filter((each) => each > from).sort((a, b) => a - b)) {
    longest = Math.max(longest, at - last);
    last = at;
    if (at > until) return longest;
  }
  return Math.max(longest, until - last);
}
