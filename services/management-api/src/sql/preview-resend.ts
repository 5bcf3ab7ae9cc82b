import { oneRow, type Reads } from "@herald/common/database/queries";
import { neverSentAgain, wasGivenUp } from "@herald/common/history/sql/never-got";
import type { Period } from "./delivery-history.ts";

export interface PreviewQuery extends Period {
  organizationId: string;
  endpointId: string;
  now: Date;
  /** Only deliveries of these events and with these statuses; an empty list lets all pass. */
  eventTypes: readonly string[];
  statusCodes: readonly number[];
  /** How many deliveries of the history are looked at, and how many are taken at most, the newest first. */
  maxScanned: number;
  maxTaken: number;
}

export interface PreviewRow {
  count: number;
  /** The total size of the bodies. */
  bytes: bigint;
  oldestAt: Date | null;
  newestAt: Date | null;
  /** The oldest and the newest id among them; null if there is none. */
  beginId: string | null;
  endId: string | null;
  /** When the last delivery came to be that was looked at; null if all of them were. */
  lookedBackTo: Date | null;
}

/**
 * Counts the deliveries that Herald gave up (exhausted or expired) and that were not sent again. Of a period, it looks at the newest `maxScanned`
 * deliveries, and counts the newest `maxTaken` of the given-up ones among them.
 *
 * Locks nothing. Uses the indexes delivery_endpoint_id_id_idx from the period's end down, webhook_endpoint_pkey, those of {@link neverSentAgain},
 * and business_event_pkey once for each counted delivery. PostgreSQL stores the length of a body beside it, so no body is read.
 */
export async function previewResend(queries: Reads, query: PreviewQuery): Promise<PreviewRow> {
  const { organizationId, endpointId, now, eventTypes, statusCodes, from, to, maxScanned, maxTaken } = query;
  const firstId = query.firstId ?? FIRST_ID;
  const endId = query.endId ?? LAST_ID;
  const rows = await queries.$queryRaw<PreviewRow[]>`
    with endpoint as materialized (
      select id, events from webhook_endpoint
      where id = ${endpointId}::uuid and organization_id = ${organizationId}
    ), filter as materialized (
      select events as subscribed, ${eventTypes}::text[] as event_types, ${statusCodes}::int[] as status_codes,
        ${from}::timestamptz as from_at, ${to}::timestamptz as to_at, ${now}::timestamptz as started_at
      from endpoint
    ), bound as materialized (
      select id, created_at from delivery
      where endpoint_id = (select id from endpoint) and id >= ${firstId}::uuid and id < ${endId}::uuid
      order by id desc
      offset ${maxScanned - 1}
      limit 1
    ), given_up as materialized (
      select delivery.id, event_key, event_type, created_at, octet_length(body) as bytes
      from delivery, filter
      where endpoint_id = (select id from endpoint)
        and id >= coalesce((select id from bound), ${firstId}::uuid)
        and id < ${endId}::uuid
        and ${wasGivenUp}
    ), taken as materialized (
      select * from ${neverSentAgain} as delivery
      order by id desc
      limit ${maxTaken}
    )
    select
      count(*)::int as "count",
      coalesce(sum(coalesce(taken.bytes, event.bytes)), 0)::bigint as "bytes",
      min(taken.created_at) as "oldestAt",
      max(taken.created_at) as "newestAt",
      (select id from taken order by id limit 1) as "beginId",
      (select id from taken order by id desc limit 1) as "endId",
      case
        when count(*) = ${maxTaken} then (select created_at from taken order by id limit 1)
        else (select created_at from bound)
      end as "lookedBackTo"
    from taken
    left join lateral (
      select octet_length(body) as bytes from business_event
      where organization_id = ${organizationId} and key = taken.event_key
      offset 0
    ) as event on true`;
  return oneRow(rows);
}

const FIRST_ID = "00000000-0000-0000-0000-000000000000";
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";
