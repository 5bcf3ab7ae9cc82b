import { type EventType, isEventType, isOrganizationId, isUuid } from "@herald/contracts";

/** What the product is told of an event that was rejected. Nothing of its data is in here. */
export interface Rejection {
  /** Null, as the others, where it can't be read. */
  organizationId: string | null;
  eventId: string | null;
  eventType: EventType | null;
  reason: string;
}

/** Rejections that are told as one: the event is the first of them. */
export interface RejectedGroup extends Rejection {
  events: number;
}

/**
 * What is told one by one in a second by one publisher. What breaks the contract may name any organization, so a flood of bad events
 * could otherwise be a flood of notices.
 */
const MOST_TOLD = 20;
const OTHER_REASONS =
  "events were rejected for more reasons than are told one by one; the queue of rejected events has each";

const MAX_REASON = 300;

/** Reads what it can of a rejected message, whatever its bytes. Pure; never throws. */
export function rejectionOf(content: Uint8Array, reason: string): Rejection {
  const { organizationId, id, type } = fieldsOf(content);
  return {
    organizationId: isOrganizationId(organizationId) ? organizationId : null,
    eventId: isUuid(id) ? id.toLowerCase() : null,
    eventType: isEventType(type) ? type : null,
    reason: shown(reason),
  };
}

/**
 * Rejections of one organization, type and reason, counted; in the order in which they came.
 *
 * @param told what was told in this second, and is now told too: beyond twenty of them, others are told as one
 */
export function groupRejections(rejections: readonly Rejection[], told: Set<string>): RejectedGroup[] {
  const groups = new Map<string, RejectedGroup>();
  for (const rejection of rejections) {
    const isTold = told.has(keyOf(rejection)) || told.size < MOST_TOLD;
    const counted = isTold ? rejection : OTHERS;
    const key = keyOf(counted);
    if (isTold) told.add(key);
    const group = groups.get(key);
    if (group) group.events++;
    else groups.set(key, { ...counted, events: 1 });
  }
  return [...groups.values()];
}

const OTHERS: Rejection = { organizationId: null, eventId: null, eventType: null, reason: OTHER_REASONS };

export function keyOf({ organizationId, eventType, reason }: Omit<Rejection, "eventId">): string {
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

/** A reason names fields, and their names are the emitter's: without what PostgreSQL can't store, or a terminal would obey. */
function shown(reason: string): string {
  const clean = Buffer.from(reason.replace(/\p{Cc}/gu, " ")).toString();
  return clean.length <= MAX_REASON ? clean : `${Buffer.from(clean.slice(0, MAX_REASON)).toString()}...`;
}
