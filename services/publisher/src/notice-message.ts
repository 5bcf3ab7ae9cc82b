import type { Notice } from "@herald/contracts";
import { keyOf } from "./rejections.ts";
import type { TakenNotice } from "./sql/take-notices.ts";

/** A message that the product gets, and the stored notices that it stands for. */
export interface NoticeMessage {
  notice: Notice;
  ids: string[];
}

/** The messages of taken notices, in their order; those of rejected events that say the same are one. Pure. */
export function messagesOf(taken: readonly TakenNotice[]): NoticeMessage[] {
  const messages: NoticeMessage[] = [];
  const rejected = new Map<string, NoticeMessage>();
  for (const each of taken) {
    const notice = noticeOf(each);
    const key = notice.type === "event.rejected" ? keyOf(notice) : undefined;
    const first = key === undefined ? undefined : rejected.get(key);
    if (first?.notice.type === "event.rejected" && notice.type === "event.rejected") {
      first.notice.events += notice.events;
      first.ids.push(each.id);
      continue;
    }
    const message = { notice, ids: [each.id] };
    messages.push(message);
    if (key !== undefined) rejected.set(key, message);
  }
  return messages;
}

function noticeOf(taken: TakenNotice): Notice {
  const { id, type, occurredAt, organizationId, endpointId, endpointName, endpointUrl, details } = taken;
  const { failureCount, attempts } = taken;
  const isOfRun = type === "endpoint.failing" || type === "endpoint.disabled" || type === "endpoint.recovered";
  // The statements that make notices write what each type has; a test holds every type against the schema.
  return {
    id,
    type,
    occurredAtUtc: occurredAt.toISOString(),
    reason: reasonOf(taken),
    organizationId,
    ...(endpointId !== null && {
      endpoint: { id: endpointId, name: endpointName, origin: new URL(endpointUrl ?? "").origin },
    }),
    ...(isOfRun && { consecutiveFailures: failureCount, attempts }),
    ...details,
  } as Notice;
}

type Details = Partial<{ deliveries: number; author: { changedBy: string; name: string | null }; reason: string }>;

function reasonOf({ type, failureCount, attempts, details }: TakenNotice): string {
  const { deliveries = 0, author, reason = "" } = details as Details;
  const latestError = attempts.at(-1)?.errorSummary ?? null;
  const failed = failureCount === 1 ? "An attempt failed" : `${failureCount} attempts in a row failed`;
  const latest = latestError === null ? "" : ` (the latest: ${latestError})`;
  const by = author?.name ?? (author?.changedBy === "operator" ? "an operator of Herald" : "an admin");
  switch (type) {
    case "endpoint.failing":
      return `${failed}${latest}.`;
    case "endpoint.disabled":
      return `${failed}${latest}, so the endpoint is disabled: nothing is sent until an admin resumes it.`;
    case "endpoint.recovered":
      return `The endpoint works again: a delivery succeeded after ${failureCount} failed attempts in a row.`;
    case "endpoint.exhausted":
      return deliveries === 1
        ? "A delivery was given up, since its last attempt failed too."
        : `${deliveries} deliveries were given up, since their last attempts failed too.`;
    case "endpoint.expired":
      return deliveries === 1
        ? "A delivery was still unfinished when it was too old to be kept, so it was given up."
        : `${deliveries} deliveries were still unfinished when they were too old to be kept, so they were given up.`;
    case "endpoint.resumed":
      return `The endpoint was resumed by ${by}.`;
    case "endpoint.secret_replaced":
      return `The signing secret was replaced by ${by}: attempts that begin later are signed with the new one.`;
    case "endpoint.deleted":
      return `The endpoint was deleted by ${by}, with its history.`;
    case "event.rejected":
      return reason;
  }
}
