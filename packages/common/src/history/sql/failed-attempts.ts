import type { FailedAttempt } from "@herald/contracts";
import { byDay } from "../../database/days.ts";
import type { Reads } from "../../database/queries.ts";

export type FailedAttemptRow = Omit<FailedAttempt, "attemptedAtUtc"> & { attemptedAt: Date };

/**
 * The attempts that endpoints' runs of failures name ("<delivery id>/<number>"), by these names. Those whose history was deleted are missing.
 * Locks nothing. Walks delivery_attempt_pkey and delivery_pkey, by a statement for each day of deliveries (days.ts).
 */
export async function failedAttempts(queries: Reads, names: readonly string[]): Promise<Map<string, FailedAttemptRow>> {
  const found = new Map<string, FailedAttemptRow>();
  for (const { items, isOn } of byDay([...new Set(names)], (name) => name)) {
    const rows = await queries.$queryRaw<(FailedAttemptRow & { run: string })[]>`
      select run, failed.delivery_id as "deliveryId", failed.number as "attemptNumber",
             (select event_type from delivery where id = failed.delivery_id and ${isOn("id")}) as "eventType",
             failed.started_at as "attemptedAt", failed.duration_ms as "durationMs",
             failed.status_code as "statusCode", failed.error_summary as "errorSummary",
             failed.failure_kind as "failureKind", failed.response_excerpt as "responseExcerpt"
      from unnest(${items}::text[]) as run
      cross join lateral (
        select *
        from attempt
        where delivery_id = split_part(run, '/', 1)::uuid and number = split_part(run, '/', 2)::int
          and ${isOn("delivery_id")}
        offset 0
      ) as failed`;
    for (const { run, ...row } of rows) found.set(run, row);
  }
  return found;
}
