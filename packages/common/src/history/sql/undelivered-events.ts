import type { UndeliveredCause } from "@herald/contracts";
import { Prisma } from "../../database/generated/client.ts";
import { idsFrom } from "../../database/ids.ts";
import type { Reads } from "../../database/queries.ts";

export interface UndeliveredRow {
  id: string;
  type: string | null;
  cause: UndeliveredCause;
  reason: string;
  cameAt: Date;
}

/** All of it has to fit; null, or an empty list, lets all pass. */
export interface UndeliveredQuery {
  organizationId: string;
  eventId: string | null;
  /** With what the event's id begins. */
  idPrefix: string | null;
  types: readonly string[];
  /** When it came: at this time or later, and before that one. */
  from: Date | null;
  to: Date | null;
  limit: number;
}

/**
 * What is known of an organization's events that were not taken, newest first: a row for each cause.
 *
 * Locks nothing. Walks undelivered_event_pkey where an id or its beginning is given, else
 * undelivered_event_organization_id_came_at_idx backwards.
 */
export async function undeliveredEvents(queries: Reads, query: UndeliveredQuery): Promise<UndeliveredRow[]> {
  const { organizationId, eventId, idPrefix, types, from, to, limit } = query;
  const ids = idPrefix === null ? null : idsFrom(idPrefix);
  return await queries.$queryRaw<UndeliveredRow[]>`
    select event_id as id, type, cause::text as cause, reason, came_at as "cameAt"
    from undelivered_event
    where organization_id = ${organizationId}
      ${eventId === null ? Prisma.empty : Prisma.sql`and event_id = ${eventId}::uuid`}
      ${ids === null ? Prisma.empty : Prisma.sql`and event_id >= ${ids.first}::uuid and event_id <= ${ids.last}::uuid`}
      ${types.length === 0 ? Prisma.empty : Prisma.sql`and type = any (${types}::text[])`}
      ${from === null ? Prisma.empty : Prisma.sql`and came_at >= ${from}::timestamptz`}
      ${to === null ? Prisma.empty : Prisma.sql`and came_at < ${to}::timestamptz`}
    order by came_at desc
    limit ${limit}::int`;
}
