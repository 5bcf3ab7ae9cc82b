import { Prisma } from "@herald/common/database/generated/client";
import { firstIdAt, lastIdAt, timeOf } from "@herald/common/database/ids";
import { isOver, oneRow, type Queries } from "@herald/common/database/queries";
import { neverSentAgain, wasGivenUp } from "@herald/common/history/sql/never-got";
import type { ResendState } from "@herald/contracts";
import type { Lease, Work } from "./work.ts";

export type TakenResend = Work & { id: string; organizationId: string };

/** Moves the time of the resend that it takes past a lease. Locks that row, skips those that others lock. Walks resend_due_at_idx. */
export async function takeResend(queries: Queries, { now, leasedUntil }: Lease): Promise<TakenResend | null> {
  const [taken] = await queries.$queryRaw<TakenResend[]>`
    update resend
    set due_at = ${leasedUntil}::timestamptz
    where id = (
      select id from resend
      where ${isOver(Prisma.sql`due_at`, now)}
      order by due_at
      limit 1
      for update skip locked
    )
    returning id, endpoint_id as "endpointId", organization_id as "organizationId", due_at as "leasedUntil"`;
  return taken ?? null;
}

interface MadePage {
  /** The state of the resend after the page; null if it was stopped, or another process has taken it over, and nothing was done. */
  state: ResendState | null;
  deliveryCount: number;
  owner: string | null;
}

/**
 * Makes one page of a resend's deliveries: new manual deliveries with the bodies of those that the endpoint never got, oldest first, due now. Moves
 * the cursor in the same statement, so that a crash leaves none out; and an id is a function of resend and old delivery, so that none is made twice.
 * The old deliveries stay as they are (SPEC 3.2).
 *
 * A page leaves at most `maxWaiting` waiting, so that a resend of thousands can be stopped between. It rests after that; an organization with
 * several resends has as many pages in a time as one with a single resend. If the page finds few such deliveries, the next page is due at once. The
 * resend ends if its endpoint is disabled or deleted. An endpoint that is paused at the same moment gets its rows, which wait.
 *
 * Locks the resend first, so that a stop comes before the page or after it, and what it inserts. Walks resend_pkey, webhook_endpoint_pkey, due_pkey
 * over the endpoint's rows since the resend began, shard_pkey, delivery_endpoint_id_id_idx from the cursor on, what {@link neverSentAgain} walks,
 * and for each delivery that it makes delivery_pkey and business_event_pkey; at the end resend_due_at_idx.
 */
export async function makeResendPage(
  queries: Queries,
  { id, leasedUntil }: TakenResend,
  { pageSize, maxWaiting, now, restMs }: { pageSize: number; maxWaiting: number; now: Date; restMs: number },
): Promise<MadePage> {
  // The ids of a resend's deliveries begin with its own time.
  const time = timeOf(id);
  const rows = await queries.$queryRaw<MadePage[]>`
    with taken as materialized (
      select * from resend where id = ${id}::uuid and due_at = ${leasedUntil}::timestamptz for update
    ), endpoint as materialized (
      select endpoint.id, endpoint.organization_id, endpoint.events
      from taken
      join webhook_endpoint as endpoint on endpoint.id = taken.endpoint_id and endpoint.enabled
    ), filter as materialized (
      select endpoint.events as subscribed, event_types, status_codes, from_at, to_at, started_at from taken, endpoint
    ), room as materialized (
      select least(${pageSize}::int, greatest(0, ${maxWaiting}::int - count(*)))::int as places
      from (
        -- Rows that were due before the resend began are none of its deliveries.
        select from due
        where shard = shard_of((select id from endpoint)) and endpoint_id = (select id from endpoint)
          and due_at >= ${time}::timestamptz
          and delivery_id between ${firstIdAt(time)}::uuid and ${lastIdAt(time)}::uuid
        limit ${maxWaiting}
      ) as waiting
    ), scanned as materialized (
      select id, endpoint_id, event_key, event_type, state, status_code, attempted_at, created_at
      from delivery
      where endpoint_id = (select id from endpoint)
        and id >= (select begin_id from taken)
        and id > (select coalesce(cursor_id, '00000000-0000-0000-0000-000000000000') from taken)
        and id <= (select end_id from taken)
      order by id
      limit ${pageSize}
    ), given_up as materialized (
      select delivery.id, event_key, event_type, created_at, null::int as bytes
      from scanned as delivery, filter
      where ${wasGivenUp}
    ), chosen as materialized (
      select id, event_key, event_type
      from ${neverSentAgain} as delivery
      order by id
      limit (select places from room)
    ), made as (
      insert into delivery (id, endpoint_id, organization_id, event_type, body, resend_of, author, created_at)
      select delivery_id(${id}::uuid, chosen.id), endpoint.id, endpoint.organization_id, chosen.event_type,
        coalesce(own.body, event.body), chosen.id, (select coalesce(name, subject) from taken), ${now}::timestamptz
      from endpoint
      cross join chosen
      cross join lateral (select body from delivery where id = chosen.id offset 0) as own
      left join lateral (
        select body from business_event
        where organization_id = endpoint.organization_id and key = chosen.event_key
        offset 0
      ) as event on true
      where coalesce(own.body, event.body) is not null
      order by chosen.id
      on conflict (id) do nothing
      returning id
    ), queued as (
      insert into due (shard, endpoint_id, due_at, delivery_id)
      select shard_of(endpoint.id), endpoint.id, ${now}::timestamptz, made.id from made, endpoint
    ), progress as (
      select
        case
          when not exists (select from endpoint) then 'stopped'
          when (select count(*) from chosen) < places and (select count(*) from scanned) < ${pageSize} then 'finished'
          else 'running'
        end::resend_state as next_state,
        (select count(*) from chosen) >= places as is_full,
        (select id from chosen order by id desc limit 1) as last_chosen,
        (select id from scanned order by id desc limit 1) as last_scanned
      from room
    ), moved as (
      update resend
      set cursor_id = coalesce(case when is_full then last_chosen else last_scanned end, resend.cursor_id),
          state = next_state,
          stop_reason = case when next_state = 'stopped' then 'disabled'::resend_stop_reason end,
          ended_at = case when next_state <> 'running' then ${now}::timestamptz end,
          due_at = case
            when next_state <> 'running' then null
            when is_full then ${now}::timestamptz + ${restMs}::int * interval '1 millisecond' * (
              select count(*) from resend as running
              where running.due_at is not null and running.organization_id = resend.organization_id
            )
            else ${now}::timestamptz
          end
      from progress, taken
      where resend.id = taken.id
      returning resend.state
    )
    select
      (select state::text from moved) as "state",
      (select count(*) from made)::int as "deliveryCount",
      (select owner from shard where shard.id = shard_of((select id from endpoint))) as "owner"`;
  return oneRow(rows);
}
