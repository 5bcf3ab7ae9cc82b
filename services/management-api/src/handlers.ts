import type { Author } from "@herald/common/database/trail";
import { toDeliverySummary } from "@herald/common/history/summary";
import type {
  AllDeliveriesQuery,
  Catalogue,
  DeleteWebhookRequest,
  DeliverRequest,
  DeliveryQuery,
  EndpointChangeQuery,
  EventQuery,
  ResendQuery,
  SaveWebhookRequest,
  StartResendRequest,
} from "@herald/contracts";
import { sessionOf } from "./authentication/access.ts";
import { deliverManually, readDelivered } from "./deliveries/deliver-manually.ts";
import { listDeliveries, readDelivery, readHistory } from "./deliveries/history.ts";
import { authorOf, listChanges, readTrail } from "./endpoints/changes.ts";
import { toEndpointSummary } from "./endpoints/find-endpoint.ts";
import { listOverviews, readDetails } from "./endpoints/overview.ts";
import { readRates } from "./endpoints/rates.ts";
import { createEndpoint, deleteEndpoint, editEndpoint, readSaved } from "./endpoints/write-endpoint.ts";
import { eventTypesOf } from "./events/event-requests.ts";
import { findEvents, readEvent } from "./events/find-events.ts";
import type { ApiRequest, Handlers, Parts } from "./parts.ts";
import { endResend, listResends, readPreview, readResend, startResend } from "./resends/resends.ts";
import { changeByRequest } from "./sql/endpoint-changes.ts";
import type { EndpointKey } from "./sql/endpoint-details.ts";
import { listEndpoints } from "./sql/endpoint-overviews.ts";

export function createHandlers(parts: Parts, catalogue: Catalogue): Handlers {
  const eventTypes = eventTypesOf(catalogue);
  const once = (request: ApiRequest, steps: Steps) => doOnce(parts, request, steps);
  return {
    async listWebhooks({ organizationId }) {
      const rows = await listEndpoints(parts.reads, { organizationId, now: parts.clock.now() });
      return rows.map((row) => toEndpointSummary(row, row.deliveries.map(toDeliverySummary)));
    },
    createWebhook: (request: ApiRequest<SaveWebhookRequest>) =>
      once(request, {
        work: (author) => createEndpoint(parts, request.organizationId, request.body, author),
        again: ({ endpointId: id }) => readSaved(parts, { id, organizationId: request.organizationId }),
      }),
    listOverviews: ({ organizationId }) => listOverviews(parts, organizationId),
    checkWebhook: async ({ badFields }) => ({ errors: badFields }),
    readWebhook: (request) => readDetails(parts, keyOf(request)),
    readRates: (request) => readRates(parts, keyOf(request)),
    editWebhook: (request: ApiRequest<SaveWebhookRequest>) =>
      once(request, {
        work: (author) => editEndpoint(parts, keyOf(request), request.body, author),
        again: () => readSaved(parts, keyOf(request)),
      }),
    deleteWebhook: (request: ApiRequest<DeleteWebhookRequest>) =>
      once(request, {
        work: (author) => deleteEndpoint(parts, keyOf(request), request.body.version, author),
        again: async () => {},
      }),
    deliverManually: (request: ApiRequest<DeliverRequest>) =>
      once(request, {
        work: (author) =>
          deliverManually(parts, keyOf(request), request.body, { author, traceparent: request.traceparent }),
        again: ({ id }) => readDelivered(parts.queries, { id, organizationId: request.organizationId }),
      }),
    listDeliveries: (request: ApiRequest<unknown, DeliveryQuery>) =>
      listDeliveries(parts, keyOf(request), request.query),
    listAllDeliveries: ({ organizationId, query }: ApiRequest<unknown, AllDeliveriesQuery>) => {
      const { endpointId: id = null, ...rest } = query;
      return readHistory(parts, { organizationId, id }, rest);
    },
    readDelivery: (request) => readDelivery(parts, keyOf(request), request.params.deliveryId ?? ""),
    listResends: (request: ApiRequest<unknown, ResendQuery>) => listResends(parts, keyOf(request), request.query),
    previewResend: (request: ApiRequest<unknown, StartResendRequest>) =>
      readPreview(parts, keyOf(request), request.query),
    startResend: (request: ApiRequest<StartResendRequest>) =>
      once(request, {
        work: (author) => startResend(parts, keyOf(request), request.body, author),
        again: ({ id }) => readResend(parts, keyOf(request), id),
      }),
    readResend: (request) => readResend(parts, keyOf(request), request.params.resendId ?? ""),
    stopResend: (request) => endResend(parts, keyOf(request), request.params.resendId ?? "", authorOf(request.caller)),
    listChanges: (request: ApiRequest<unknown, EndpointChangeQuery>) =>
      listChanges(parts, keyOf(request), request.query),
    listAllChanges: ({ organizationId, query }: ApiRequest<unknown, EndpointChangeQuery>) =>
      readTrail(parts.reads, { organizationId, endpointId: null }, query),
    findEvents: ({ organizationId, query }: ApiRequest<unknown, EventQuery>) =>
      findEvents(parts, organizationId, query),
    readEvent: ({ organizationId, params }) => readEvent(parts, organizationId, params.key ?? ""),
    readSession: async ({ caller }) => sessionOf(caller, parts.config),
    listEventTypes: async () => eventTypes,
  };
}

interface Steps {
  work(author: Author): Promise<unknown>;
  /** Reads what has become of the change that an earlier request with the same idempotency key made. */
  again(change: { id: string; endpointId: string }): Promise<unknown>;
}

/**
 * Does a request's work. If it has an idempotency key, the work's statement stores the request's hash in the trail, which takes it once: a
 * repetition is not done, and is answered with what there is now. Of two at once the second waits for the first one's transaction,
 * and then fails: by its hash, or since it finds what the first one made, as a new version.
 */
async function doOnce({ queries }: Parts, request: ApiRequest, { work, again }: Steps): Promise<unknown> {
  const { organizationId, requestHash, caller } = request;
  const author = authorOf(caller, requestHash);
  if (requestHash === null) return await work(author);
  const earlier = () => changeByRequest(queries, { organizationId, requestHash });
  const made = await earlier();
  if (made !== null) return await again(made);
  try {
    return await work(author);
  } catch (error) {
    const change = await earlier().catch(() => null);
    if (change === null) throw error;
    return await again(change);
  }
}

function keyOf({ params, organizationId }: ApiRequest): EndpointKey {
  return { id: params.id ?? "", organizationId };
}
