import { Prisma } from "@herald/common/database/generated/client";
import { firstIdAt, lastIdAt, timeOf } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";

/** One run of a claim's statement. Its id and its lease find what it took, also where its answer was lost. */
export interface Claim {
  claimId: string;
  now: Date;
  /** When the deliveries are due again if this process dies before it settles their attempts. */
  leasedUntil: Date;
}

/** A delivery that this process has claimed, with all that one attempt needs. */
export interface ClaimedDelivery {
  deliveryId: string;
  endpointId: string;
  organizationId: string;
  eventType: string;
  /** Which attempt this is: 1 to 5. */
  attempt: number;
  /** How many attempts of this delivery were cut off, because their dispatcher died. They do not count as attempts. */
  interruptions: number;
  interrupted?: boolean;
  /** The request body, byte for byte; null where it is large: bodies.ts reads it when the delivery's turn to be sent comes. */
  body: Body | null;
  /** The body's length in UTF-8. */
  bodyBytes: number;
  /** The event whose body it is; null for a manual delivery, which has its own. */
  eventKey: string | null;
  /** As configured at `configuredAt`: each attempt uses the current URL and the current secret (SPEC 2.3). */
  url: string;
  sealedSecret: string;
  /** Whether its row says that no dispatcher could open the secret. */
  quarantined: boolean;
  configuredAt: Date;
  /** The endpoint's revision at that time. A result of an older revision does not count for or against the endpoint. */
  revision: bigint;
  /** The trace context of this claim where claims are traced, else of the event; null where there is none. */
  traceparent: string | null;
  /** As far as they were stored when it was claimed: the endpoint's failures in a row, and until when it is left alone. */
  failures: number;
  pausedUntil: Date | null;
  createdAt: Date;
  claimId: string;
  /** When the delivery is due again if its attempt is not settled by then. */
  leasedUntil: Date;
  /** Whether an admin waits for this attempt, so that it does not wait for the endpoint's pause. */
  manual?: boolean;
}

/** A large one as its bytes, which are what is sent. */
export type Body = string | Buffer;

/** A claimed delivery that can be sent now. */
export type ReadyDelivery = ClaimedDelivery & { body: Body };

/** Bodies up to this length are read with the claim: most are, and a statement more would cost more than their memory. */
export const SMALL_BODY_BYTES = 8 * 1024;

/** A due row that a claim has taken. */
export interface TakenRow {
  deliveryId: string;
  endpointId: string;
  attempt: number;
  interruptions: number;
  /** Whether the claim found it in flight with a dispatcher that died. */
  interrupted?: boolean;
}

/** What a taken row is read as. */
export const takenColumns = Prisma.sql`
  due.delivery_id as "deliveryId", due.endpoint_id as "endpointId", due.attempts + 1 as "attempt",
  due.interruptions::int as "interruptions"`;

/**
 * Claims due rows: the lease begins, and a row that another claim had left behind counts one interruption. A row that was leased
 * to a hint does not: most of those hints were lost, and no attempt had begun.
 *
 * Takes nothing while a restore is not ended (`herald restore`). That is asked here and nowhere before, since a claim that was waiting for
 * PostgreSQL may be the first statement on a database that was put back meanwhile. PostgreSQL asks it once, before all else: of a table
 * that is empty, which has no page to read. So it costs next to nothing, and where there is a restore, no row is locked.
 *
 * @param wanted a select of `delivery_id` and `claim_id` that locks these rows of `due`
 */
export async function take(queries: Queries, claim: Claim, wanted: Prisma.Sql): Promise<ClaimedDelivery[]> {
  const taken = await queries.$queryRaw<TakenRow[]>`
    with quick as materialized (
      -- For this statement only: it does not wait until its commit is on disk. A claim that PostgreSQL forgets in a crash
      -- is an attempt made twice, which a crash may cause anyway.
      select set_config('synchronous_commit', 'off', true)
    ), wanted as materialized (
      ${wanted}
    )
    update due
    set due_at = ${claim.leasedUntil}::timestamptz,
        claim_id = ${claim.claimId}::uuid,
        interruptions = due.interruptions + coalesce(wanted.claim_id <> wanted.delivery_id, false)::int
    from quick, wanted
    where due.delivery_id = wanted.delivery_id and not exists (select from restore)
    returning ${takenColumns}, coalesce(wanted.claim_id <> wanted.delivery_id, false) as "interrupted"`;
  return await describe(queries, claim, taken);
}

type Row = Omit<ClaimedDelivery, keyof Claim | keyof TakenRow | "configuredAt"> & { position: number; exists: boolean };

/**
 * Reads what attempts of taken deliveries need. This is a statement of its own, since its ids are known now: with the bounds
 * beside them, a cached plan leaves out all other days at its start. Else it would open every partition each time, which costs
 * more than the rest. `offset 0` keeps the planner from joining otherwise than row by row. The length of a large body is known without
 * reading it.
 *
 * Locks nothing. Walks webhook_endpoint_pkey, delivery_pkey and business_event_pkey.
 */
export async function describe(
  queries: Queries,
  { claimId, leasedUntil, now }: Claim,
  taken: readonly TakenRow[],
): Promise<ClaimedDelivery[]> {
  if (taken.length === 0) return [];
  const ids = taken.map(({ deliveryId }) => deliveryId);
  const sorted = [...ids].sort();
  const [first = "", last = ""] = [sorted[0], sorted.at(-1)];
  const rows = await queries.$queryRaw<Row[]>`
    select
      taken.position::int as "position",
      delivery.id is not null as "exists",
      delivery.organization_id as "organizationId",
      delivery.event_type as "eventType",
      case when octet_length(content.body) <= ${SMALL_BODY_BYTES} then content.body end as "body",
      coalesce(octet_length(content.body), 0) as "bodyBytes",
      delivery.event_key as "eventKey",
      endpoint.url as "url",
      endpoint.sealed_secret as "sealedSecret",
      endpoint.quarantined_at is not null as "quarantined",
      endpoint.revision as "revision",
      event.traceparent as "traceparent",
      endpoint.consecutive_failures as "failures",
      endpoint.paused_until as "pausedUntil",
      delivery.created_at as "createdAt"
    from unnest(${ids}::uuid[], ${taken.map(({ endpointId }) => endpointId)}::uuid[])
      with ordinality as taken (delivery_id, endpoint_id, position)
    join webhook_endpoint as endpoint on endpoint.id = taken.endpoint_id
    left join lateral (
      select * from delivery where id = taken.delivery_id and id between ${first}::uuid and ${last}::uuid offset 0
    ) as delivery on true
    left join lateral (
      select body, traceparent from business_event
      where organization_id = delivery.organization_id and key = delivery.event_key
        and key between ${firstIdAt(timeOf(first))}::uuid and ${lastIdAt(timeOf(last))}::uuid
      offset 0
    ) as event on true
    cross join lateral (select coalesce(delivery.body, event.body) as body) as content`;
  const gone = rows.filter(({ exists }) => !exists).map(({ position }) => ids[position - 1] as string);
  if (gone.length > 0) await forget(queries, gone, claimId);
  return rows
    .filter(({ exists }) => exists)
    .map(({ position, exists, ...row }) => {
      return { ...(taken[position - 1] as TakenRow), ...row, claimId, leasedUntil, configuredAt: now };
    });
}

/** Deletes due rows whose delivery is gone. Else they would come back each time when their lease ends. */
async function forget(queries: Queries, deliveryIds: readonly string[], claimId: string): Promise<void> {
  await queries.$executeRaw`
    delete from due where delivery_id = any (${deliveryIds}::uuid[]) and claim_id = ${claimId}::uuid`;
}
