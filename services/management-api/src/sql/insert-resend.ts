import type { Author } from "@herald/common/database/endpoint-change";
import type { PrismaClient } from "@herald/common/database/generated/client";

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

export type InsertedResend = "stored" | "no endpoint" | "disabled" | "one runs";

/**
 * Stores a resend, due at once, and its entry in the trail, unless its endpoint is disabled or has one that runs.
 *
 * Locks the endpoint until the end of the transaction: of two resends at once the second one waits. It looks for the first one in
 * a statement of its own, since a statement sees the rows of the time when it began, which would be before it got the lock. Walks
 * webhook_endpoint_pkey and resend_endpoint_id_id_idx.
 */
export async function insertResend(prisma: PrismaClient, resend: NewResend): Promise<InsertedResend> {
  const { id, endpointId, organizationId, now, author, eventTypes, statusCodes, from, to } = resend;
  return await prisma.$transaction(async (transaction) => {
    const [endpoint] = await transaction.$queryRaw<{ enabled: boolean; name: string; revision: bigint }[]>`
      select enabled, name, revision from webhook_endpoint
      where id = ${endpointId}::uuid and organization_id = ${organizationId}
      for no key update`;
    if (!endpoint) return "no endpoint";
    if (!endpoint.enabled) return "disabled";
    const count = await transaction.$executeRaw`
      insert into resend (
        id, endpoint_id, organization_id, started_at, subject, name, event_types, status_codes, from_at, to_at, begin_id,
        end_id, total, bytes, due_at
      )
      select ${id}::uuid, ${endpointId}::uuid, ${organizationId}, ${now}::timestamptz, ${author.subject}, ${author.name},
        ${eventTypes}::text[], ${statusCodes}::int[], ${from}::timestamptz, ${to}::timestamptz, ${resend.beginId}::uuid,
        ${resend.endId}::uuid, ${resend.total}::int, ${resend.bytes}::bigint, ${now}::timestamptz
      where not exists (select from resend where endpoint_id = ${endpointId}::uuid and due_at is not null)`;
    if (count === 0) return "one runs";
    const { name: endpointName, revision } = endpoint;
    await transaction.endpointChange.create({
      data: { id, organizationId, endpointId, endpointName, revision, changedAt: now, ...author, resent: resend.total },
      select: { id: true },
    });
    return "stored";
  });
}
