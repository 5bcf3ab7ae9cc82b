import { isOrganizationId, isUuid, type UndeliveredCause } from "@herald/contracts";

/** An event that is not taken, as notices and searches show it. It holds nothing of the event's data. */
export interface Rejection {
  cause: UndeliveredCause;
  /** Null if it can't be read, like the other fields. */
  organizationId: string | null;
  eventId: string | null;
  eventType: string | null;
  reason: string;
}

/** Rejections that one notice reports: its fields are those of the first event. */
export interface RejectedGroup extends Rejection {
  events: number;
}

const MAX_REASON = 300;
const MAX_TYPE = 128;

/** Reads the fields of a message that is not taken, whatever its bytes. Pure; never throws. */
export function rejectionOf(content: Uint8Array, cause: UndeliveredCause, reason: string): Rejection {
  const { organizationId, id, type } = fieldsOf(content);
  return {
    cause,
    organizationId: isOrganizationId(organizationId) ? organizationId : null,
    eventId: isUuid(id) ? id.toLowerCase() : null,
    eventType: isType(type) ? shown(type) : null,
    reason: shown(reason),
  };
}

/** Groups and counts rejections by organization, type and reason; beyond `maxNamed` groups, all further ones are one group without a name. */
export function groupRejections(rejections: readonly Rejection[], maxNamed: number): RejectedGroup[] {
  const groups = new Map<string, RejectedGroup>();
  for (const rejection of rejections) {
    const isNamed = groups.has(keyOf(rejection)) || groups.size < maxNamed;
    const counted = isNamed ? rejection : OTHERS;
    const key = keyOf(counted);
    const group = groups.get(key);
    if (group) group.events++;
    else groups.set(key, { ...counted, events: 1 });
  }
  return [...groups.values()];
}

const OTHERS: Rejection = {
  cause: "rejected",
  organizationId: null,
  eventId: null,
  eventType: null,
  reason: "events were rejected for more reasons than are listed one by one; the queue of rejected events has each",
};

export function keyOf({ organizationId, eventType, reason }: Omit<Rejection, "eventId" | "cause">): string {
  return JSON.stringify([organizationId, eventType, reason]);
}

function fieldsOf(content: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(content).toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Whether a value can be the name of a type, whether a catalogue has it or not. */
function isType(type: unknown): type is string {
  return typeof type === "string" && type !== "" && [...type].length <= MAX_TYPE;
}

/** Removes characters that PostgreSQL can't store, or that steer a terminal or deceive its reader: a reason quotes the emitter's text. */
export function harmless(reason: string): string {
  return Buffer.from(reason.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ")).toString();
}

function shown(reason: string): string {
  const clean = harmless(reason);
  return clean.length <= MAX_REASON ? clean : `${Buffer.from(clean.slice(0, MAX_REASON)).toString()}...`;
}

const HOUR_MS = 3_600_000;

/** Rows of events that are not taken that a publisher writes in an hour: for one organization, and for all. */
export const KEPT_OF_ORGANIZATION = 200;
export const KEPT_OF_ALL = 10_000;
/** Organizations and types that get a notice in an hour. */
const MAX_NOTICES = 1_000;

/**
 * Bounds what a publisher writes, and notifies of, in an hour. An emitter that misspells a type does so in all its events, and some emitters send
 * everything and leave the choice to Herald.
 */
export function hourly() {
  let hour = -1;
  let kept = new Map<string, number>();
  let keptOfAll = 0;
  let notified = new Set<string>();

  function turnTo(now: Date): void {
    const current = Math.floor(now.getTime() / HOUR_MS);
    if (current === hour) return;
    hour = current;
    kept = new Map();
    keptOfAll = 0;
    notified = new Set();
  }

  return {
    /** Whether an event is written down: the search can find it, and the hour's rows are not used up. */
    mayKeep({ organizationId, eventId }: Rejection, now: Date): boolean {
      turnTo(now);
      if (organizationId === null || eventId === null || keptOfAll >= KEPT_OF_ALL) return false;
      return (kept.get(organizationId) ?? 0) < KEPT_OF_ORGANIZATION;
    },
    /** @param events 1, or -1 if it could not be written after all */
    hasKept({ organizationId }: Rejection, events: 1 | -1 = 1): void {
      kept.set(organizationId ?? "", (kept.get(organizationId ?? "") ?? 0) + events);
      keptOfAll += events;
    },
    /** Whether an event gets a notice: it is the hour's first one of its organization, type and cause. */
    mayNotify(rejection: Rejection, now: Date): boolean {
      turnTo(now);
      return notified.size < MAX_NOTICES && !notified.has(noticeKeyOf(rejection));
    },
    hasNotified(rejection: Rejection): void {
      notified.add(noticeKeyOf(rejection));
    },
  };
}

function noticeKeyOf({ organizationId, eventType, cause }: Rejection): string {
  return JSON.stringify([organizationId, eventType, cause]);
}
