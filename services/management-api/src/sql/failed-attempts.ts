import type { PrismaClient } from "@herald/common/database/generated/client";
import type { FailureKind } from "@herald/contracts";

export interface FailedAttemptRow {
  deliveryId: string;
  attemptNumber: number;
  eventType: string;
  attemptedAt: Date;
  durationMs: number;
  statusCode: number;
  errorSummary: string | null;
  failureKind: FailureKind | null;
  responseExcerpt: string | null;
}

/**
 * The attempts that a run of failures names ("<delivery id>/<number>"), in its order.
 * Locks nothing. Walks delivery_attempt_pkey and delivery_pkey, once an attempt.
 */
export async function failedAttempts(prisma: PrismaClient, failureRun: readonly string[]): Promise<FailedAttemptRow[]> {
  if (failureRun.length === 0) return [];
  return await prisma.$queryRaw<FailedAttemptRow[]>`
    select attempt.delivery_id as "deliveryId", attempt.number as "attemptNumber", delivery.event_type as "eventType",
           attempt.started_at as "attemptedAt", attempt.duration_ms as "durationMs",
           attempt.status_code as "statusCode", attempt.error_summary as "errorSummary",
           attempt.failure_kind as "failureKind", attempt.response_excerpt as "responseExcerpt"
    from unnest(${failureRun}::text[]) with ordinality as run (entry, position)
    join delivery_attempt as attempt
      on attempt.delivery_id = split_part(entry, '/', 1)::uuid and attempt.number = split_part(entry, '/', 2)::int
    join delivery on delivery.id = attempt.delivery_id
    order by position`;
}
