import type { Queries } from "@herald/common/database/queries";

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
