import { createDatabaseClock } from "@herald/common/database/database-clock";
import type { Check } from "../check.ts";
import { type Finding, ok, warning } from "../finding.ts";
import type { DatabaseSubject } from "./subject.ts";

export const clocks: Check<DatabaseSubject> = {
  name: "clocks",
  async examine({ session, machineClock }) {
    const clock = createDatabaseClock(machineClock);
    const askedMs = clock.monotonicMs();
    const [row] = await session.query<{ ms: number }>(
      "select extract(epoch from clock_timestamp())::float8 * 1000 as ms",
    );
    clock.heard({ askedMs, databaseMs: (row as { ms: number }).ms, answeredMs: clock.monotonicMs() });
    return clockFinding(clock.machineAheadMs());
  },
};

const OFF_MS = 1_000;
/** Logs of several machines can't be read side by side any more. */
const FAR_OFF_MS = 60_000;

/** @param aheadMs by how much this machine's clock is ahead of PostgreSQL's */
export function clockFinding(aheadMs: number): Finding {
  const offMs = Math.abs(aheadMs);
  if (offMs < OFF_MS) return ok("This machine's clock and PostgreSQL's agree.");
  const what = `This machine's clock is ${Math.round(offMs / 1_000)} s ${aheadMs > 0 ? "ahead of" : "behind"} PostgreSQL's, which Herald goes by.`;
  if (offMs < FAR_OFF_MS) return ok(what);
  return warning(
    `${what} Logs bear this machine's time, and certificates are judged by it.`,
    "Have both follow a time server (chrony, systemd-timesyncd); check with: timedatectl",
  );
}
