import type { Rejection } from "./rejections.ts";

const HOUR_MS = 3_600_000;

/** How many events of an organization that it does not take a publisher writes down in an hour; and how many of all organizations. */
export const KEPT_OF_ORGANIZATION = 200;
export const KEPT_OF_ALL = 10_000;
/** Of how many organizations and types it tells in an hour. */
const MAX_TOLD = 1_000;

/**
 * What a publisher has written down and told in the hour of an event that is not taken. An emitter that says a type wrong says it
 * of all its events, and some emit all that happens and leave the choice to Herald.
 */
export function hourly() {
  let hour = -1;
  let kept = new Map<string, number>();
  let keptOfAll = 0;
  let told = new Set<string>();

  function turnTo(now: Date): void {
    const current = Math.floor(now.getTime() / HOUR_MS);
    if (current === hour) return;
    hour = current;
    kept = new Map();
    keptOfAll = 0;
    told = new Set();
  }

  return {
    /** Whether an event is written down: it can be found, and the hour's rows are not used up. */
    mayKeep({ organizationId, eventId }: Rejection, now: Date): boolean {
      turnTo(now);
      if (organizationId === null || eventId === null || keptOfAll >= KEPT_OF_ALL) return false;
      return (kept.get(organizationId) ?? 0) < KEPT_OF_ORGANIZATION;
    },
    /** @param events 1, or -1 where it could not be written after all */
    hasKept({ organizationId }: Rejection, events: 1 | -1 = 1): void {
      kept.set(organizationId ?? "", (kept.get(organizationId ?? "") ?? 0) + events);
      keptOfAll += events;
    },
    /** Whether people are told of an event: it is the hour's first one of its organization, type and cause. */
    mayTell(rejection: Rejection, now: Date): boolean {
      turnTo(now);
      return told.size < MAX_TOLD && !told.has(keyOf(rejection));
    },
    hasTold(rejection: Rejection): void {
      told.add(keyOf(rejection));
    },
  };
}

export function keyOf({ organizationId, eventType, cause }: Rejection): string {
  return JSON.stringify([organizationId, eventType, cause]);
}
