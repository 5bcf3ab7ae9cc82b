import type { Broker } from "@herald/common/broker/broker";
import type { Queries } from "@herald/common/database/queries";
import { ownerOf } from "@herald/common/database/shards";
import type { Author } from "@herald/common/database/update-endpoint";
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

/**
 * Sends a payload to an endpoint, as it is: without envelope and business event, and with exactly the string's UTF-8 bytes
 * signed and sent (SPEC 4.1.2). Returns how the first attempt went, or `attemptCount` 0 if it was not settled in time, or
 * too many of the organization's deliveries are under way; the delivery is then attempted later. Whether the receiver took it is in `succeeded` (SPEC 4.1.3).
 *
 * @throws ProblemError `webhook_not_found`, `endpoint_disabled`, `event_not_subscribed` or `too_many_requests`
 */
export async function deliverManually(
  parts: Parts,
  key: EndpointKey,
  { eventType, payloadJson: body }: DeliverRequest,
  { author, traceparent }: { author: Author; traceparent: string | undefined },
): Promise<WebhookDeliverySummary> {
  const { queries, clock, newId, requestAttempt, writeLimiter } = parts;
  const { id: endpointId, organizationId } = key;
  const id = newId();
  let dueAt = clock.now();
  const isStored = await writeLimiter.run(organizationId, () => {
    const createdAt = clock.now();
    dueAt = new Date(createdAt.getTime() + LEFT_TO_REQUEST_MS);
    return insertManualDelivery(queries, key, { id, eventType, body, author }, { createdAt, dueAt });
  });
  if (!isStored) return await refuseDelivery(parts, key, eventType);
  await requestAttempt(
    { kind: "manual", deliveryId: id, endpointId, organizationId, dueAtUtc: dueAt.toISOString() },
    traceparent,
  );
  return await readDelivered(queries, { id, organizationId });
}

/**
 * A manual delivery as it is now.
 *
 * @throws ProblemError `webhook_not_found` if the endpoint was deleted, such as while its receiver answered
 */
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

/**
 * Asks the owner of the endpoint, over the broker, for a manual delivery's first attempt. Resolves when the attempt has been settled or has to
 * wait, and also if there is no owner, or it did not answer in time: the state of the delivery is in the database, not in the answer.
 */
export function attemptRequester(
  { broker, queries }: { broker: Broker; queries: Queries },
  { timeoutMs }: { timeoutMs: number },
): Parts["requestAttempt"] {
  const requester = broker.requester();
  const { requestsExchange: exchange } = broker.names;
  return async (request, traceparent) => {
    const routingKey = await ownerOf(queries, request.endpointId);
    if (routingKey === null) return;
    const content = Buffer.from(JSON.stringify(request));
    const headers = traceparent === undefined ? {} : { traceparent };
    await requester.request({ exchange, routingKey, content, headers, timeoutMs });
  };
}
