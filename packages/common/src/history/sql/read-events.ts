import type { Reads } from "../../database/queries.ts";

export interface EventRow {
  key: string;
  id: string;
  type: string;
  entityId: string;
  occurredAt: Date;
  receivedAt: Date;
  traceparent: string | null;
  /** The beginning of the body: all that comes before `data`. */
  head: string;
  /** Null where it was not asked for. */
  body: string | null;
}

/** The fields before `data`, with a kind of entity of 128 characters, each written as an escape of six. */
const HEAD_CHARACTERS = 1_024;

/**
 * Events of an organization by their keys, newest first. Bodies are large, so they are read only where they are asked for.
 *
 * Locks nothing. Walks business_event_pkey, in one partition an event.
 */
export async function readEvents(
  queries: Reads,
  { organizationId, keys, withBody }: { organizationId: string; keys: readonly string[]; withBody: boolean },
): Promise<EventRow[]> {
  return await queries.$queryRaw<EventRow[]>`
    select event.*
    from unnest(${keys}::uuid[]) as sought (key)
    cross join lateral (
      select key, id, type, entity_id as "entityId", occurred_at as "occurredAt", received_at as "receivedAt",
             traceparent, left(body, ${HEAD_CHARACTERS}::int) as head, case when ${withBody}::boolean then body end as body
      from business_event
      where organization_id = ${organizationId} and key = sought.key
      offset 0
    ) as event
    order by event.key desc`;
}
