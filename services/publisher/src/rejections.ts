import { isOrganizationId, isUuid, type UndeliveredCause } from "@herald/contracts";

/** An event that is not taken, as notices and searches tell of it. It holds nothing of the event's data. */
export interface Rejection {
  cause: UndeliveredCause;
  /** Null where it can't be read, like the other fields. */
  organizationId: string | null;
  eventId: string | null;
  eventType: string | null;
  reason: string;
}

/** Rejections that one notice reports: its fields are those of the first event. */
export interface RejectedGroup extends Rejection {
  events: number;
}

const OTHER_REASONS =
  "events were rejected for more reasons than are told one by one; the queue of rejected events has each";

const MAX_REASON = 300;
const MAX_TYPE = 128;

/** Reads what it can of a message that is not taken, whatever its bytes. Pure; never throws. */
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

/**
 * Rejections of one organization, type and reason, counted; in the order in which they came.
 *
 * @param maxNamed how many groups may have a name; beyond them, all others are one group without a name
 */
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
  reason: OTHER_REASONS,
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

/** What can be the name of a type, whether a catalogue has it or not. */
function isType(type: unknown): type is string {
  return typeof type === "string" && type !== "" && [...type].length <= MAX_TYPE;
}

/** Shortens a reason, and removes characters that PostgreSQL can't store or that control a terminal: a reason quotes the emitter's text. */
function shown(reason: string): string {
  const clean = Buffer.from(reason.replace(/\p{Cc}/gu, " ")).toString();
  return clean.length <= MAX_REASON ? clean : `${Buffer.from(clean.slice(0, MAX_REASON)).toString()}...`;
}

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
      return told.size < MAX_TOLD && !told.has(tellingKeyOf(rejection));
    },
    hasTold(rejection: Rejection): void {
      told.add(tellingKeyOf(rejection));
    },
  };
}

export function tellingKeyOf({ organizationId, eventType, cause }: Rejection): string {
  return JSON.stringify([organizationId, eventType, cause]);
}
