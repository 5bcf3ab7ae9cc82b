import { noticeId } from "@herald/common/database/ids";
import { nullable, type Queries } from "@herald/common/database/queries";
import type { Rejection } from "./rows.ts";

/** An existing row of organization, id and cause stays as it is. Locks no existing row. Walks undelivered_event_pkey. */
export async function insertUndelivered(queries: Queries, events: readonly Rejection[], now: Date): Promise<void> {
  await queries.$executeRaw`
    insert into undelivered_event (event_id, organization_id, cause, type, reason, came_at)
    select event_id, organization_id, cause::undelivered_cause, type, reason, ${now}::timestamptz
    from unnest(
      ${events.map(({ eventId }) => eventId)}::uuid[],
      ${events.map(({ organizationId }) => organizationId)}::text[],
      ${events.map(({ cause }) => cause)}::text[],
      ${nullable(events, ({ eventType }) => eventType)},
      ${events.map(({ reason }) => reason)}::text[]
    ) as given (event_id, organization_id, cause, type, reason)
    on conflict do nothing`;
}

/** Leaves notices of events that were rejected. Locks no existing row. */
export async function insertRejections(queries: Queries, events: readonly Rejection[], now: Date): Promise<void> {
  const details = events.map(({ organizationId: _, ...rest }) => JSON.stringify(rest));
  await queries.$executeRaw`
    insert into notice (id, type, organization_id, failure_run, details, occurred_at, publish_at)
    select id, 'event.rejected', organization_id, '{}', details, ${now}::timestamptz, ${now}::timestamptz
    from unnest(
      ${events.map(() => noticeId(now))}::uuid[],
      ${nullable(events, ({ organizationId }) => organizationId)},
      ${details}::jsonb[]
    ) as rejected (id, organization_id, details)`;
}
