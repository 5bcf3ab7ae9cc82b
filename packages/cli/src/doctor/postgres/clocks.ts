import { clockDifferenceMs, NOT_READY_ABOVE_MS, WARN_ABOVE_MS } from "@herald/common/runtime/clock-difference";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, warning } from "../finding.ts";
import type { DatabaseSubject } from "./subject.ts";

export const clocks: Check<DatabaseSubject> = {
  name: "clocks",
  async examine({ session, clock }) {
    const asked = clock.now();
    const [row] = await session.query<{ theirs: Date }>("select clock_timestamp() as theirs");
    return clockFinding(clockDifferenceMs({ asked, theirs: (row as { theirs: Date }).theirs, answered: clock.now() }));
  },
};

/** @param aheadMs by how much this machine's clock is ahead of PostgreSQL's */
export function clockFinding(aheadMs: number): Finding {
  const off = Math.abs(aheadMs);
  if (off < WARN_ABOVE_MS) return ok("This machine's clock and PostgreSQL's agree.");
  const what = `This machine's clock is ${Math.round(off / 1_000)} s ${aheadMs > 0 ? "ahead of" : "behind"} PostgreSQL's.`;
  const remedy = "Have both follow a time server (chrony, systemd-timesyncd); check with: timedatectl";
  return off < NOT_READY_ABOVE_MS ? warning(what, remedy) : fault(`${what} Dispatchers do not become ready.`, remedy);
}
