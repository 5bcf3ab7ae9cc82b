import type { PrismaClient } from "@herald/common/database/generated/client";

export interface NewResend {
  id: string;
  endpointId: string;
  organizationId: string;
  now: Date;
  subject: string | null;
  name: string | null;
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
 * Stores a resend, due at once, unless its endpoint is disabled or has one that runs.
 *
 * Locks the endpoint until the end of the transaction: of two resends at once the second one waits. It looks for the first one in
 * a statement of its own, since a statement sees the rows of the time when it began, which would be before it got the lock. Walks
 * webhook_endpoint_pkey and resend_endpoint_id_id_idx.
 */
export async function insertResend(prisma: PrismaClient, resend: NewResend): Promise<InsertedResend> {
  const { id, endpointId, organizationId, now, subject, name, eventTypes, statusCodes, from, to } = resend;
  return await prisma.$transaction(async (transaction) => {
    const [endpoint] = await transaction.$queryRaw<{ enabled: boolean; revision: bigint }[]>`
      select enabled, revision from webhook_endpoint
      where id = ${endpointId}::uuid and organization_id = ${organizationId}
      for no key update`;
    if (!endpoint) return "no endpoint";
    if (!endpoint.enabled) return "disabled";
    const count = await transaction.$executeRaw`
      insert into resend (
        id, endpoint_id, organization_id, revision, started_at, subject, name, event_types, status_codes, from_at, to_at, begin_id,
        end_id, total, bytes, due_at
      )
      select ${id}::uuid, ${endpointId}::uuid, ${organizationId}, ${endpoint.revision}, ${now}::timestamptz, ${subject}, ${name},
        ${eventTypes}::text[], ${statusCodes}::int[], ${from}::timestamptz, ${to}::timestamptz, ${resend.beginId}::uuid,
        ${resend.endId}::uuid, ${resend.total}::int, ${resend.bytes}::bigint, ${now}::timestamptz
      where not exists (select from resend where endpoint_id = ${endpointId}::uuid and due_at is not null)`;
    return count > 0 ? "stored" : "one runs";
  });
}
