import type { OperationId } from "../operations.ts";

/** An OpenAPI link: how to ask on with what an answer holds. */
export interface Link {
  operationId: OperationId;
  description: string;
  /** By name, each a runtime expression of OpenAPI. */
  parameters: Record<string, string>;
}

const endpointFrom = (id: string): Record<string, Link> => ({
  endpoint: { operationId: "readWebhook", description: "The endpoint in full.", parameters: { id } },
  edit: { operationId: "editWebhook", description: "Edits the endpoint.", parameters: { id } },
  delete: { operationId: "deleteWebhook", description: "Deletes the endpoint.", parameters: { id } },
  deliver: { operationId: "deliverManually", description: "Sends a payload to the endpoint.", parameters: { id } },
  deliveries: { operationId: "listDeliveries", description: "The endpoint's history.", parameters: { id } },
  export: { operationId: "exportDeliveries", description: "The endpoint's history as a file.", parameters: { id } },
});

const created = endpointFrom("$response.body#/endpoint/id");
const firstOfList = endpointFrom("$response.body#/0/id");

const oneDelivery = (deliveryId: string): Record<string, Link> => ({
  delivery: {
    operationId: "readDelivery",
    description: "The delivery in full.",
    parameters: { id: "$request.path.id", deliveryId },
  },
});

const oneResend = (resendId: string): Record<string, Link> => ({
  resend: {
    operationId: "readResend",
    description: "How far the resend is.",
    parameters: { id: "$request.path.id", resendId },
  },
  stop: {
    operationId: "stopResend",
    description: "Stops the resend.",
    parameters: { id: "$request.path.id", resendId },
  },
});

/** What the success responses lead to. Of a list, the links of its first item stand for those of all. */
export const LINKS: Partial<Record<OperationId, Record<string, Link>>> = {
  listWebhooks: firstOfList,
  listOverviews: firstOfList,
  createWebhook: created,
  editWebhook: created,
  deliverManually: oneDelivery("$response.body#/id"),
  listResends: {
    ...oneResend("$response.body#/resends/0/id"),
    next: {
      operationId: "listResends",
      description: "The next part, where `nextCursor` isn't null.",
      parameters: { id: "$request.path.id", cursor: "$response.body#/nextCursor" },
    },
  },
  startResend: oneResend("$response.body#/id"),
  listChanges: {
    next: {
      operationId: "listChanges",
      description: "The next part, where `nextCursor` isn't null.",
      parameters: { id: "$request.path.id", cursor: "$response.body#/nextCursor" },
    },
  },
  findEvents: {
    event: {
      operationId: "readEvent",
      description: "The event with its body.",
      parameters: { key: "$response.body#/events/0/key" },
    },
  },
  listDeliveries: {
    ...oneDelivery("$response.body#/deliveries/0/id"),
    next: {
      operationId: "listDeliveries",
      description: "The next part, where `nextCursor` isn't null. The filters have to be the same.",
      parameters: { id: "$request.path.id", cursor: "$response.body#/nextCursor" },
    },
  },
};
