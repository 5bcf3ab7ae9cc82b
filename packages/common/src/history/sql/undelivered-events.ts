import type { UndeliveredCause } from "@herald/contracts";
import type { Reads } from "../../database/queries.ts";

export interface UndeliveredRow {
  id: string;
  type: string | null;
  cause: UndeliveredCause;
  reason: string;
  cameAt: Date;
}

/** What is known of an organization's event that was not taken: a row for each cause. Locks nothing. Walks undelivered_event_pkey. */
export async function undeliveredEvents(
  queries: Reads,
  { organizationId, eventId }: { organizationId: string; eventId: string },
): Promise<UndeliveredRow[]> {
  return await queries.$queryRaw<UndeliveredRow[]>`
    select event_id as id, type, cause::text as cause, reason, came_at as "cameAt"
    from undelivered_event
    where event_id = ${eventId}::uuid and organization_id = ${organizationId}
    order by came_at desc`;
}
