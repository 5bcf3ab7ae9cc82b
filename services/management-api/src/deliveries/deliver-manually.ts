import { setTimeout as sleep } from "node:timers/promises";
import type { Queries } from "@herald/common/database/queries";
import type { Author } from "@herald/common/database/trail";
import { toDeliverySummary } from "@herald/common/history/summary";
import type { DeliverRequest, WebhookDeliverySummary } from "@herald/contracts";
import { findEndpoint } from "../endpoints/find-endpoint.ts";
import type { Parts } from "../parts.ts";
import { ProblemError } from "../problems/problem-error.ts";
import { deliverySummary } from "../sql/delivery-details.ts";
import type { EndpointKey } from "../sql/endpoint-details.ts";
import { insertManualDelivery } from "../sql/insert-manual-delivery.ts";

/**
 * How long a new delivery waits for the attempt that its request asks for, before it is due as any other. A request reaches the owner within
 * milliseconds, and the owner knows its attempts. Later than this, no owner got the request, as while a shard changes its owner.
 */
const LEFT_TO_REQUEST_MS = 3_000;

/** The pauses before the delivery's row is read: short at first, since most receivers answer within some 20 ms. Each is twice as long as the one before. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;

/**
 * Sends a payload to an endpoint, as it is: without envelope and business event, and with exactly the string's UTF-8 bytes
 * signed and sent (SPEC 4.1.2). Returns how the first attempt went, or `attemptCount` 0 if it was not settled in time, or
 * too many of the organization's deliveries are under way; the delivery is then attempted later. Whether the receiver took it is in `succeeded` (SPEC 4.1.3).
 * @throws ProblemError `webhook_not_found`, `endpoint_disabled`, `event_not_subscribed` or `too_many_requests`
 */
export async function deliverManually(
  parts: Parts,
  key: EndpointKey,
  { eventType, payloadJson: body }: DeliverRequest,
  { author, traceparent }: { author: Author; traceparent: string | undefined },
): Promise<WebhookDeliverySummary> {
  const { queries, clock, newId, tellOwner, manualWait, writeLimiter } = parts;
  const { id: endpointId, organizationId } = key;
  const id = newId();
  let dueAt = clock.now();
  const isStored = await writeLimiter.run(organizationId, () => {
    const createdAt = clock.now();
    dueAt = new Date(createdAt.getTime() + LEFT_TO_REQUEST_MS);
    return insertManualDelivery(queries, key, { id, eventType, body, author }, { createdAt, dueAt });
  });
  if (!isStored) return await refuseDelivery(parts, key, eventType);
  const isTold = await tellOwner({
    ...{ kind: "manual", deliveryId: id, endpointId, organizationId },
    ...{ dueAtUtc: dueAt.toISOString(), traceparent: traceparent ?? null },
  });
  return await readAttempted(queries, { id, organizationId }, isTold ? manualWait : { ...manualWait, timeoutMs: 0 });
}

async function readAttempted(
  queries: Queries,
  delivery: { id: string; organizationId: string },
  { timeoutMs, signal }: Parts["manualWait"],
): Promise<WebhookDeliverySummary> {
  const endMs = performance.now() + timeoutMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const leftMs = endMs - performance.now();
    await sleep(Math.max(0, Math.min(pauseMs, leftMs)), undefined, { signal }).catch(() => undefined);
    const summary = await readDelivered(queries, delivery);
    if (summary.attemptCount > 0 || leftMs <= pauseMs || signal.aborted) return summary;
  }
}

/** A manual delivery as it is now. @throws ProblemError `webhook_not_found` if the endpoint was deleted, such as while its receiver answered */
export async function readDelivered(
  queries: Queries,
  delivery: { id: string; organizationId: string },
): Promise<WebhookDeliverySummary> {
  const row = await deliverySummary(queries, delivery);
  if (row === null) throw new ProblemError("webhook_not_found");
  return toDeliverySummary(row);
}

async function refuseDelivery({ prisma }: Parts, key: EndpointKey, eventType: string): Promise<never> {
  const { enabled, events } = await findEndpoint(prisma, key);
  if (!enabled) throw new ProblemError("endpoint_disabled");
  throw new ProblemError("event_not_subscribed", {
    detail: `The endpoint takes ${events.join(", ")}, but not ${eventType}. Deliver one of those, or add it to them.`,
  });
}
