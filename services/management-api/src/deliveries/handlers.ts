import type { HeaderSettings } from "@herald/common/security/attempt-headers";
import type { DeliverRequest } from "@herald/contracts";
import type { ApiRequest, Handlers } from "../handlers.ts";
import { type DeliverParts, deliverManually } from "./deliver-manually.ts";
import { type HistoryFilter, listDeliveries, readDelivery } from "./history.ts";

type DeliveryOperation = "deliverManually" | "listDeliveries" | "readDelivery";

export function deliveryHandlers(parts: DeliverParts & { headers: HeaderSettings }): Pick<Handlers, DeliveryOperation> {
  return {
    deliverManually: ({ params, organizationId, body }: ApiRequest<DeliverRequest>) =>
      deliverManually(parts, { id: params.id ?? "", organizationId }, body),
    listDeliveries: ({ params, organizationId, query }: ApiRequest<unknown, HistoryFilter>) =>
      listDeliveries(parts.prisma, { id: params.id ?? "", organizationId }, query),
    readDelivery: ({ params, organizationId }) =>
      readDelivery(
        parts.prisma,
        { id: params.deliveryId ?? "", endpointId: params.id ?? "", organizationId },
        parts.headers,
      ),
  };
}
