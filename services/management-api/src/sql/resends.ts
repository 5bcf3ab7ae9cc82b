import { Prisma, type PrismaClient } from "@herald/common/database/generated/client";
import type { Queries, Reads } from "@herald/common/database/queries";
import type { Author } from "@herald/common/database/trail";
import type { Resend } from "@herald/contracts";

type Unchanged = "id" | "state" | "stopReason" | "stoppedBy" | "total" | "sent" | "succeeded" | "failed";

export interface ResendRow extends Pick<Resend, Unchanged> {
  startedAt: Date;
  subject: string | null;
  name: string | null;
  endedAt: Date | null;
  eventTypes: string[];
  statusCodes: number[];
  fromAt: Date | null;
  toAt: Date | null;
  bytes: bigint;
}

export interface ResendsQuery {
  organizationId: string;
  endpointId: string;
  /** One resend, or those older than one; null for all. */
  id: string | null;
  olderThan: string | null;
  limit: number;
}

/**
 * Resends of an endpoint that exists, newest first, with how far they are.
 *
 * Locks nothing. Walks webhook_endpoint_pkey, resend_endpoint_id_id_idx backwards, and for each resend delivery_endpoint_id_id_idx over the millisecond that the
 * ids of its deliveries begin with, which is in one partition. Others may lie there too, so the ids are made once more.
 */
export async function readResends(queries: Reads, query: ResendsQuery): Promise<ResendRow[]> {
  const { organizationId, endpointId, id, olderThan, limit } = query;
  return await queries.$queryRaw<ResendRow[]>`
    select resend.id, state::text as state, stop_reason::text as "stopReason", started_at as "startedAt", subject, name,
      ended_at as "endedAt", stopped_by as "stoppedBy", event_types as "eventTypes", status_codes as "statusCodes",
      from_at as "fromAt", to_at as "toAt", total, bytes, made.sent, made.succeeded, made.failed
    from (
      select * from resend
      where endpoint_id = (
          select id from webhook_endpoint where id = ${endpointId}::uuid and organization_id = ${organizationId}
        )
        ${id === null ? Prisma.empty : Prisma.sql`and id = ${id}::uuid`}
        ${olderThan === null ? Prisma.empty : Prisma.sql`and id < ${olderThan}::uuid`}
      order by id desc
      limit ${limit}
    ) as resend
    cross join lateral (
      select count(*)::int as sent,
        count(*) filter (where delivery.state = 'succeeded')::int as succeeded,
        count(*) filter (where delivery.state in ('exhausted', 'expired'))::int as failed
      from delivery
      where delivery.endpoint_id = resend.endpoint_id
        and delivery.id >= overlay(resend.id::text placing '0000-0000-000000000000' from 15)::uuid
        and delivery.id <= overlay(resend.id::text placing 'ffff-ffff-ffffffffffff' from 15)::uuid
        -- Without coalesce, PostgreSQL might read all that the endpoint was sent again, by the index of it, for each resend.
        and delivery.id = delivery_id(resend.id, coalesce(delivery.resend_of, resend.id))
    ) as made
    order by resend.id desc`;
}

/**
 * Stops a resend that runs: no more of its deliveries are made. One that has ended stays as it is.
 *
 * Locks the resend, and so waits for a page that is being made. Walks resend_pkey.
 */
export async function stopResend(
  queries: Queries,
  stop: { id: string; endpointId: string; organizationId: string; stoppedBy: string | null; now: Date },
): Promise<void> {
  await queries.$executeRaw`
    update resend
    set state = 'stopped', stop_reason = 'asked', stopped_by = ${stop.stoppedBy}, ended_at = ${stop.now}::timestamptz, due_at = null
    where id = ${stop.id}::uuid
      and endpoint_id = ${stop.endpointId}::uuid
      and organization_id = ${stop.organizationId}
      and due_at is not null`;
}

export interface NewResend {
  id: string;
  endpointId: string;
  organizationId: string;
  now: Date;
  author: Author;
  eventTypes: readonly string[];
  statusCodes: readonly number[];
  from: Date | null;
  to: Date | null;
  beginId: string;
  endId: string;
  total: number;
  bytes: bigint;
}

/**
 * Stores a resend, due at once, and its entry in the trail, unless its endpoint is disabled or has one that runs.
 *
 * Locks the endpoint until the end of the transaction: of two resends at once the second one waits. It looks for the first one in
 * a statement of its own, since a statement sees the rows of the time when it began, which would be before it got the lock. Walks
 * webhook_endpoint_pkey and resend_endpoint_id_id_idx.
 */
export async function insertResend(prisma: PrismaClient, resend: NewResend) {
  const { id, endpointId, organizationId, now, author, eventTypes, statusCodes, from, to } = resend;
  return await prisma.$transaction(async (transaction) => {
    const [endpoint] = await transaction.$queryRaw<{ enabled: boolean; name: string; revision: bigint }[]>`
      select enabled, name, revision from webhook_endpoint
      where id = ${endpointId}::uuid and organization_id = ${organizationId}
      for no key update`;
    if (!endpoint) return "no endpoint" as const;
    if (!endpoint.enabled) return "disabled" as const;
    const count = await transaction.$executeRaw`
      insert into resend (
        id, endpoint_id, organization_id, started_at, subject, name, event_types, status_codes, from_at, to_at, begin_id,
        end_id, total, bytes, due_at
      )
      select ${id}::uuid, ${endpointId}::uuid, ${organizationId}, ${now}::timestamptz, ${author.subject}, ${author.name},
        ${eventTypes}::text[], ${statusCodes}::int[], ${from}::timestamptz, ${to}::timestamptz, ${resend.beginId}::uuid,
        ${resend.endId}::uuid, ${resend.total}::int, ${resend.bytes}::bigint, ${now}::timestamptz
      where not exists (select from resend where endpoint_id = ${endpointId}::uuid and due_at is not null)`;
    if (count === 0) return "one runs" as const;
    const { name: endpointName, revision } = endpoint;
    await transaction.endpointChange.create({
      data: { id, organizationId, endpointId, endpointName, revision, changedAt: now, ...author, resent: resend.total },
      select: { id: true },
    });
    return "stored" as const;
  });
}
