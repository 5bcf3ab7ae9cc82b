import { countBy } from "../../statistics.ts";
import { blamedOf, repeatsOf, tooManyOf, unrecordedOf, unrememberedOf, wronglyExhaustedOf } from "./attempts.ts";
import { forgedOf, lostOf, setAsideOf, unendingOf } from "./deliveries.ts";
import { requestsWhileDisabled, wronglyDisabledOf } from "./disablings.ts";
import type { History } from "./history.ts";
import { indexOf } from "./history.ts";

/** Things that must not be, each with what it is about, in words. All lists empty: the run has passed. */
export interface Findings {
  /** A confirmed event, or an answered manual delivery, that its receiver never accepted, for no reason of the receiver's. */
  lost: string[];
  /** A delivery that was given up although its receiver did not fail all of its attempts. */
  wronglyExhausted: string[];
  /** A delivery with more attempts than it may have. Requests of no attempt are `unrecorded`, or have lost their dispatchers. */
  tooManyAttempts: string[];
  /** A request that is no attempt in the history, though nothing happened to a dispatcher before it was to be stored. */
  unrecorded: string[];
  /** An attempt that counts as failed, though its receiver had accepted it well in time. */
  blamed: string[];
  /** A delivery whose history lacks an attempt that was counted. */
  unremembered: string[];
  /** A request that came when its endpoint had been disabled for longer than a dispatcher may go by an older reading. */
  afterDisabling: string[];
  /** A request with a wrong signature, another body than was emitted, or of a delivery that there should not be. */
  forged: string[];
  /** A request whose timestamp was more than five minutes off, so that a receiver that holds SPEC 4.4.3 refuses it. */
  untimely: string[];
  /** A delivery that is still not finished, or is finished and still due, or a message that still lies in a queue. */
  unending: string[];
  /** An event that was taken out of the inbox, though none that is emitted breaks a rule. */
  setAside: string[];
  /** A delivery that came again though it had been accepted, and no fault can have been the reason. */
  unexplainedDuplicates: string[];
  /** An endpoint that was disabled by fewer failures that followed one another than it takes, or without a notice to the product. */
  wronglyDisabled: string[];
  /** An endpoint that would not have been disabled without failures that were none of its receiver's. */
  disabledForOurFault: string[];
  /** An endpoint that would not have been disabled if its receiver had not restarted. */
  disabledByRestart: string[];
  /** A service that ended by itself. */
  crashed: string[];
}

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
