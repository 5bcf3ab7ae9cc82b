import type { Queries } from "@herald/common/database/queries";
import type { Health } from "../settle/health.ts";

/** An endpoint's health as it is stored; undefined where the endpoint is deleted. Locks nothing. Walks webhook_endpoint_pkey. */
export async function readHealth(queries: Queries, endpointId: string): Promise<Health | undefined> {
  const [health] = await queries.$queryRaw<Health[]>`
    select revision, enabled, failure_run as "failureRun", failed_at as "failedAt", paused_until as "pausedUntil",
      failing_told as "failingTold", failing_told_at as "failingToldAt"
    from webhook_endpoint where id = ${endpointId}::uuid`;
  return health;
}
