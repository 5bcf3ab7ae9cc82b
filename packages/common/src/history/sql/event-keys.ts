import { Prisma } from "../../database/generated/client.ts";
import type { Reads } from "../../database/queries.ts";

export interface EventKeysQuery {
  organizationId: string;
  /** One of these two at least; where both are given, both have to fit. */
  eventId: string | null;
  entityId: string | null;
  /** Only keys smaller than this id; null for all. */
  before: string | null;
  limit: number;
}

/** An event's id comes again only with another time, so seldom. An emitter that gives all its events one id must not make this slow. */
const MOST_WITH_ONE_ID = 1_000;

/**
 * The keys of an organization's events with an id, or about an entity, newest first: `limit` at the most, of those with one
 * id among a thousand.
 *
 * Locks nothing. Walks business_event_organization_id_id_idx, or business_event_organization_id_entity_id_key_idx backwards: an
 * entity may have very many events, and its newest lie together there. Either index is looked into once a partition.
 */
export async function eventKeys(queries: Reads, query: EventKeysQuery): Promise<string[]> {
  const { organizationId, eventId, entityId, before, limit } = query;
  const ofEntity = entityId === null ? Prisma.empty : Prisma.sql`and entity_id = ${entityId}::uuid`;
  const older = before === null ? Prisma.empty : Prisma.sql`and key < ${before}::uuid`;
  const found =
    eventId === null
      ? Prisma.sql`select key from business_event where organization_id = ${organizationId} ${ofEntity} ${older}`
      : Prisma.sql`
          select key
          from (
            select key, entity_id from business_event
            where organization_id = ${organizationId} and id = ${eventId}::uuid
            limit ${MOST_WITH_ONE_ID}::int
          ) as event
          where true ${ofEntity} ${older}`;
  const rows = await queries.$queryRaw<{ key: string }[]>`${found} order by key desc limit ${limit}::int`;
  return rows.map(({ key }) => key);
}
