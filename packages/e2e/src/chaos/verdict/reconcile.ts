import { countBy } from "../../statistics.ts";
import { blamedOf, repeatsOf, tooManyOf, unrecordedOf, unrememberedOf, wronglyExhaustedOf } from "./attempts.ts";
import { forgedOf, lostOf, setAsideOf, unendingOf } from "./deliveries.ts";
import { requestsWhileDisabled, wronglyDisabledOf } from "./disablings.ts";
import type { History } from "./history.ts";
import { indexOf } from "./history.ts";

/** What must not be, each in words; docs/reliability.md says more of it. */
export const MUST_NOT_BE = {
  lost: "lost",
  wronglyExhausted: "given up, and no fault of the receiver's",
  tooManyAttempts: "more than five attempts",
  unremembered: "attempts that the history lacks",
  unrecorded: "requests that the history lacks",
  blamed: "failed, though accepted in time",
  afterDisabling: "attempts to a disabled endpoint",
  forged: "wrong signature or body",
  untimely: "signed with a wrong time",
  unending: "without an end",
  setAside: "taken out of the inbox",
  unexplainedDuplicates: "duplicates that nothing explains",
  wronglyDisabled: "wrongly or silently disabled",
  disabledForOurFault: "disabled for our fault",
  disabledByRestart: "disabled by a restart",
  crashed: "services that ended by themselves",
} as const;

/** What each is about, in words. All lists empty: the run has passed. */
export type Findings = Record<keyof typeof MUST_NOT_BE, string[]>;

export interface Figures {
  events: number;
  confirmed: number;
  deliveries: number;
  succeeded: number;
  exhausted: number;
  requests: number;
  /** Requests of deliveries that the receiver had accepted before, by what explains them. */
  duplicates: Record<string, number>;
  /** Requests that are no attempt in the history, by what took their results. */
  withoutAttempt: Record<string, number>;
  /** Attempts that count as failed, for whatever reason. */
  failedAttempts: number;
  /** Accepted by the receiver, and given up by Herald: the answer to the last attempt was lost with its dispatcher. */
  acceptedYetExhausted: number;
  disabledByHerald: number;
  faults: Record<string, number>;
}

export interface Verdict {
  passed: boolean;
  findings: Findings;
  figures: Figures;
}

/** Compares what was emitted with what was received and with what the database says. Pure. */
export function reconcile(history: History): Verdict {
  const known = indexOf(history);
  const { duplicates, unexplainedDuplicates } = repeatsOf(history, known);
  const { withoutAttempt, unrecorded } = unrecordedOf(history, known);
  const findings: Findings = {
    lost: lostOf(history, known),
    wronglyExhausted: wronglyExhaustedOf(history, known),
    tooManyAttempts: tooManyOf(history),
    unrecorded,
    blamed: blamedOf(history, known),
    unremembered: unrememberedOf(history),
    afterDisabling: requestsWhileDisabled(history),
    forged: forgedOf(history, known),
    untimely: history.requests.flatMap(({ deliveryId, untimely }) =>
      untimely === null ? [] : [`delivery ${deliveryId}: ${untimely}`],
    ),
    unending: unendingOf(history),
    setAside: setAsideOf(history),
    unexplainedDuplicates,
    ...wronglyDisabledOf(history, known),
    crashed: history.ownEnds.map(
      ({ service, lastLines }) => `${service} ended by itself: ${lastLines.slice(-3).join(" | ")}`,
    ),
  };
  const { deliveries } = history;
  const attempts = deliveries.flatMap((delivery) => delivery.attempts);
  return {
    passed: Object.values(findings).every((list: string[]) => list.length === 0),
    findings,
    figures: {
      events: history.events.length,
      confirmed: history.events.filter(({ confirmed }) => confirmed).length,
      deliveries: deliveries.length,
      succeeded: deliveries.filter(({ state }) => state === "succeeded").length,
      exhausted: deliveries.filter(({ state }) => state === "exhausted").length,
      requests: history.requests.length,
      duplicates,
      withoutAttempt,
      failedAttempts: attempts.filter(({ failureKind }) => failureKind !== null).length,
      acceptedYetExhausted: deliveries.filter(({ state, id }) => state === "exhausted" && known.isAccepted(id)).length,
      disabledByHerald: history.disablings.filter(({ by }) => by === "herald").length,
      faults: countBy(history.faults.filter(({ skipped }) => skipped === undefined).map(({ kind }) => kind)),
    },
  };
}

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
