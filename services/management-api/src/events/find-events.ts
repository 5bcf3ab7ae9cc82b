import type { Reads } from "@herald/common/database/queries";
import { readEvent as readStoredEvent, type SearchParts, searchEvents } from "@herald/common/history/search-events";
import type { Clock } from "@herald/common/runtime/clock";
import type { EventDetails, EventPage } from "@herald/contracts";
import { cursorOf, parseCursor } from "../deliveries/cursor.ts";
import { ProblemError } from "../problems/problem-error.ts";

interface EventParts {
  queries: Reads;
  clock: Clock;
  /** How many days back events are delivered. */
  windowDays: number;
}

/** The query parameters of a search, validated. */
export interface EventFilter {
  id?: string;
  entityId?: string;
  deliveryId?: string;
  limit: number;
  cursor?: string;
}

const DAY_MS = 24 * 60 * 60_000;
const NEEDED = ["id", "entityId", "deliveryId"] as const;

/**
 * Finds events across the organization's endpoints. Of an event that was not taken (of an unknown type, too old when it came, or
 * against the contract) it finds by its id why.
 *
 * @throws ProblemError `invalid_request` where no id is given
 */
export async function findEvents(parts: EventParts, organizationId: string, filter: EventFilter): Promise<EventPage> {
  if (NEEDED.every((name) => filter[name] === undefined)) {
    throw new ProblemError("invalid_request", {
      detail: "A search needs an id: give at least one of id, entityId and deliveryId.",
      errors: NEEDED.map((name) => ({
        parameter: name,
        code: "missing",
        detail: "At least one of id, entityId and deliveryId is needed.",
      })),
    });
  }
  const { events, manualDelivery, undelivered, next } = await searchEvents(searchParts(parts), {
    organizationId,
    eventId: filter.id ?? null,
    entityId: filter.entityId ?? null,
    deliveryId: filter.deliveryId ?? null,
    before: filter.cursor === undefined ? null : parseCursor(filter.cursor),
    limit: filter.limit,
  });
  return { events, manualDelivery, undelivered, nextCursor: next === null ? null : cursorOf(next) };
}

/** @throws ProblemError `event_not_found` */
export async function readEvent(parts: EventParts, organizationId: string, key: string): Promise<EventDetails> {
  const event = await readStoredEvent(searchParts(parts), { organizationId, key });
  if (event === null) throw new ProblemError("event_not_found");
  return event;
}

function searchParts({ queries, clock, windowDays }: EventParts): SearchParts {
  return { queries, now: clock.now(), windowMs: windowDays * DAY_MS };
}
