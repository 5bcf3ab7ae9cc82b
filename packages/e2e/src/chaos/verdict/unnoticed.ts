import type { Verdict } from "./reconcile.ts";

/** What steady receivers must not notice of what happens to Herald: a failed attempt, and a delivery that comes twice where that is not allowed. */
export function noticed({ figures }: Verdict, { mayRepeat }: { mayRepeat: boolean }): string[] {
  const { failedAttempts, requests, deliveries } = figures;
  const complaints: string[] = [];
  if (failedAttempts > 0) complaints.push(`${failedAttempts} attempts failed, none for a reason of the receiver's`);
  if (!mayRepeat && requests !== deliveries) complaints.push(`${deliveries} deliveries came as ${requests} requests`);
  return complaints;
}
