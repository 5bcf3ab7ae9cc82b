import type { Notice, NoticeType } from "@herald/contracts";
import type { TakenNotice } from "../sql/take-notices.ts";

/** The notice as the product gets it. Pure. */
export function noticeOf(taken: TakenNotice): Notice {
  const { id, type, occurredAt, organizationId, endpointId, endpointName, endpointUrl, failureCount, attempts } = taken;
  return {
    id,
    type,
    occurredAtUtc: occurredAt.toISOString(),
    organizationId,
    endpoint: { id: endpointId, name: endpointName, url: endpointUrl },
    reason: reasonOf(type, failureCount, attempts.at(-1)?.errorSummary ?? null),
    consecutiveFailures: failureCount,
    attempts,
  };
}

function reasonOf(type: NoticeType, failureCount: number, latestError: string | null): string {
  const failed = failureCount === 1 ? "An attempt failed" : `${failureCount} attempts in a row failed`;
  const latest = latestError === null ? "" : ` (the latest: ${latestError})`;
  const consequence =
    type === "endpoint.disabled" ? ", so the endpoint is disabled: nothing is sent until an admin resumes it" : "";
  return `${failed}${latest}${consequence}.`;
}
