import { setLatest } from "@herald/common/runtime/latest";
import type { Basics } from "../basics.ts";
import { UNTIMELY_MS } from "../http/response.ts";
import type { AttemptResult, ClockShown } from "../sql/rows.ts";
import type { Receiver } from "./sense.ts";

/** While this machine's clock is further from PostgreSQL's, it judges no certificate by its dates. */
const CERTIFICATE_MS = 60_000;
/** Receivers that say the same are right about our time, and not wrong about their own, if there are so many hosts, of so many organizations. */
const MIN_HOSTS = 3;
const MIN_ORGANIZATIONS = 2;
/** What a receiver said is out of date after this time. */
const SAID_MS = 10 * 60_000;
const MAX_HOSTS = 64;
const LOG_EVERY_MS = 60_000;

type Off = Exclude<ClockShown, "right">;

/**
 * Knows whether a clock of ours is wrong: this machine's, by which OpenSSL judges certificates, or PostgreSQL's, by which signatures are dated. The two
 * are compared with each other, and with those of receivers that refuse: by the `Date` of their answers.
 */
export function watchClocks({ clock, log }: Basics) {
  const said = new Map<string, { organizationId: string; shown: ClockShown; atMs: number }>();
  let loggedMs = Number.NEGATIVE_INFINITY;

  function hear({ host, organizationId }: Receiver, shown: ClockShown): void {
    setLatest(said, host, { organizationId, shown, atMs: clock.monotonicMs() }, MAX_HOSTS);
  }

  /** How our time is off by what most receivers say that refuse; undefined if too few do. */
  function agreed(): Off | undefined {
    const sinceMs = clock.monotonicMs() - SAID_MS;
    const lately = [...said.values()].filter(({ atMs }) => atMs > sinceMs);
    const of = (shown: ClockShown) => lately.filter((each) => each.shown === shown);
    return (["ahead", "behind"] as const).find((shown) => {
      const organizations = new Set(of(shown).map(({ organizationId }) => organizationId));
      const isMost = of(shown).length * 2 > lately.length;
      return isMost && of(shown).length >= MIN_HOSTS && organizations.size >= MIN_ORGANIZATIONS;
    });
  }

  function logIt(aheadMs: number, byReceivers: Off | undefined): void {
    if (clock.monotonicMs() < loggedMs + LOG_EVERY_MS) return;
    loggedMs = clock.monotonicMs();
    const doDiffer = Math.abs(aheadMs) > CERTIFICATE_MS;
    const isRight = [...said.values()].some(({ shown }) => shown === "right");
    const which = isRight ? "this machine's" : "this machine's or PostgreSQL's";
    const byBoth = doDiffer ? "PostgreSQL's" : "PostgreSQL's and this machine's";
    const machineAheadSeconds = Math.round(aheadMs / 1_000);
    const fields = { clock: byReceivers ? byBoth : which, byReceivers, machineAheadSeconds };
    log.error(
      "a clock is wrong: failures that it may cause count for no receiver, and their deliveries wait a minute",
      fields,
    );
  }

  return {
    /** Whether a wrong clock of ours may be the reason for a failed attempt. */
    areToBlame(
      receiver: Receiver | undefined,
      { failureKind, statusCode = 0, clockShown }: Partial<AttemptResult>,
    ): boolean {
      const isRefusal = failureKind === "http_status" && statusCode >= 400 && statusCode < 500;
      if (!isRefusal && clockShown === undefined) return false;
      const aheadMs = clock.machineAheadMs?.() ?? 0;
      const doDiffer = Math.abs(aheadMs) > CERTIFICATE_MS;
      // A certificate that has expired is a usual fault, and says nothing about other receivers.
      const isWitness = isRefusal || (clockShown === "behind" && !doDiffer);
      if (receiver && clockShown && isWitness) hear(receiver, clockShown);
      if (clockShown === "right") return false;
      const byReceivers = agreed();
      const isAgreed = byReceivers !== undefined && (clockShown ?? byReceivers) === byReceivers;
      const isOurs = isRefusal
        ? isAgreed || Math.abs(aheadMs) > UNTIMELY_MS
        : doDiffer
          ? clockShown === (aheadMs > 0 ? "ahead" : "behind")
          : isAgreed;
      if (isOurs) logIt(aheadMs, byReceivers);
      return isOurs;
    },
  };
}
