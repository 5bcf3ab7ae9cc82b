import { firstIdAt } from "@herald/common/database/ids";
import { readEvent as readStoredEvent, type SearchParts, searchEvents } from "@herald/common/history/search-events";
import type { EventDetails, EventPage, EventQuery } from "@herald/contracts";
import type { Parts } from "../parts.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { cursorOf, olderThanOf } from "../validation/opaque.ts";

const DAY_MS = 24 * 60 * 60_000;

/** With those that Herald did not take: of an unknown type, too old on arrival, or against the contract. */
export async function findEvents(parts: Parts, organizationId: string, filter: EventQuery): Promise<EventPage> {
  const before = [olderThanOf(filter), filter.to === undefined ? null : firstIdAt(new Date(filter.to))].filter(
    (id) => id !== null,
  );
  const { events, manualDelivery, undelivered, next } = await searchEvents(searchParts(parts), {
    organizationId,
    eventId: filter.id ?? null,
    entityId: filter.entityId ?? null,
    deliveryId: filter.deliveryId ?? null,
    idPrefix: filter.idPrefix ?? null,
    types: filter.type ?? [],
    firstKey: filter.from === undefined ? null : firstIdAt(new Date(filter.from)),
    before: before.sort()[0] ?? null,
    limit: filter.limit,
  });
  return { events, manualDelivery, undelivered, nextCursor: next && cursorOf(next) };
}

/** @throws ProblemError `event_not_found` */
export async function readEvent(parts: Parts, organizationId: string, key: string): Promise<EventDetails> {
  const event = await readStoredEvent(searchParts(parts), { organizationId, key });
  if (event === null) throw new ProblemError("event_not_found");
  return event;
}

function searchParts({ config, reads, clock }: Parts): SearchParts {
  return { queries: reads, now: clock.now(), windowMs: config.PUBLICATION_WINDOW_DAYS * DAY_MS };
}
