import { type Share, shareOut } from "./endpoint-share.ts";

/** A dispatcher, as its row says. */
export interface Member {
  id: string;
  joinedAt: Date;
  /** It attempts by shares that count every member of this time; null where it has not said so yet. */
  agreedAt: Date | null;
}

/** PostgreSQL's answer to a beat: the members, this one among them, and its own time. */
export interface BeatAnswer {
  at: Date;
  members: readonly Member[];
}

/**
 * After this time without an answer from PostgreSQL, the others may take this dispatcher for dead. It begins no attempt until it
 * hears that they did not. Less than {@link UNSEEN_MS}.
 */
export const LAPSE_MS = 5_000;

/** A member that was not seen for so long is dead. */
export const UNSEEN_MS = 6_000;

/** The same, to a dispatcher that has only just reached PostgreSQL: perhaps nobody could before, and the others are about to come. */
export const LONG_UNSEEN_MS = 60_000;

export const NOTHING: Share = { count: 0, first: false };

/**
 * What a dispatcher knows of the others, and when it may begin. Two dispatchers attempt only while each counts the other in its shares;
 * since a further member makes no share larger, all of them together stay within each endpoint's cap.
 *
 * A newcomer inserts its row, and then waits until each other member says that it has counted it. A member says so when no endpoint
 * has more attempts under way than its new share. That is soon, but for receivers that hang. Newcomers agree with each other at once, as they
 * have no attempts; one that is alone has nobody to wait for.
 *
 * Pure: answers and times are arguments. `sentMs` and `nowMs` are of a clock that never goes back; all other times are PostgreSQL's.
 */
export interface Membership {
  /** What the next beat says. */
  agreedAt(): Date | null;
  /** How long a member may be unseen until the next beat removes it. */
  unseenMs(nowMs: number): number;
  /**
   * @param sentMs when the beat was sent
   * @param isWithin whether no endpoint has more attempts under way than this says
   */
  heard(answer: BeatAnswer, sentMs: number, isWithin: (capOf: (endpointId: string) => number) => boolean): void;
  shareOf(endpointId: string, nowMs: number): Share;
  hasBegun(): boolean;
  /** It waits for others, or others may wait for what its next beat says. */
  isUnsettled(): boolean;
  size(): number;
}

/** @param cap how many attempts an endpoint may have at once, over all dispatchers */
export function createMembership(id: string, cap: number): Membership {
  let joinedAt: number | undefined;
  /** A time at which this one's row was there for all to see. */
  let visibleAt: number | undefined;
  let agreedAt: Date | null = null;
  let ids: readonly string[] = [];
  let sharesOut: (endpointId: string) => Share = () => NOTHING;
  let begun = false;
  let settled = false;
  let heardMs = Number.NEGATIVE_INFINITY;
  let contactSinceMs = 0;

  const hasLapsed = (nowMs: number) => nowMs - heardMs > LAPSE_MS;

  /** Returns whether another member has come. */
  function learn(members: readonly Member[]): boolean {
    const next = members.map((member) => member.id).sort();
    if (next.length === ids.length && next.every((other, index) => other === ids[index])) return false;
    const known = new Set(ids);
    ids = next;
    sharesOut = shareOut(ids, id, cap);
    return next.some((other) => !known.has(other));
  }

  return {
    agreedAt: () => agreedAt,
    unseenMs: (nowMs) => (hasLapsed(nowMs) || nowMs - contactSinceMs < UNSEEN_MS ? LONG_UNSEEN_MS : UNSEEN_MS),
    heard({ at, members }, sentMs, isWithin) {
      const own = members.find((member) => member.id === id);
      if (own === undefined) throw new Error("PostgreSQL's answer to a beat leaves out the dispatcher that sent it.");
      if (hasLapsed(sentMs)) contactSinceMs = sentMs;
      heardMs = sentMs;
      if (own.joinedAt.getTime() !== joinedAt) {
        // Its row is new. Where there was one before, the others took this dispatcher for dead, and its share for theirs.
        joinedAt = own.joinedAt.getTime();
        visibleAt = undefined;
        begun = false;
      }
      const someoneCame = learn(members);
      // The answer to the insert itself says nothing of others that came in the same moment. A millisecond more, since times are rounded.
      if (at.getTime() !== joinedAt) visibleAt ??= at.getTime() + 1;
      const within = isWithin((endpointId) => (begun ? sharesOut(endpointId).count : 0));
      if (within) agreedAt = at;
      const since = visibleAt;
      begun ||=
        within &&
        since !== undefined &&
        members.every((other) => other === own || (other.agreedAt !== null && other.agreedAt.getTime() > since));
      settled = begun && within && !someoneCame;
    },
    shareOf: (endpointId, nowMs) => (begun && !hasLapsed(nowMs) ? sharesOut(endpointId) : NOTHING),
    hasBegun: () => begun,
    isUnsettled: () => !settled,
    size: () => ids.length,
  };
}
