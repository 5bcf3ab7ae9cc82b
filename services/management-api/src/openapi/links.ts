import type { OperationId } from "../operations.ts";

/** An OpenAPI link: how to ask on with what an answer holds. */
export interface Link {
  operationId: OperationId;
  description: string;
  /** By name, each a runtime expression of OpenAPI. */
  parameters: Record<string, string>;
  /** Its fields by name, each a runtime expression. */
  requestBody?: Record<string, string>;
}

/** @param at where an endpoint stands in an answer's body, as a JSON pointer */
function endpointAt(at: string): Record<string, Link> {
  const expression = (field: string) => `$response.body#${at}/${field}`;
  const settings = ["name", "url", "enabled", "events", "version"].map((field) => [field, expression(field)]);
  const parameters = { id: expression("id") };
  return {
    endpoint: { operationId: "readWebhook", description: "The endpoint in full.", parameters },
    edit: {
      operationId: "editWebhook",
      description: "Edits the endpoint: its settings as they are, to be changed, and its version.",
      parameters,
      requestBody: Object.fromEntries(settings),
    },
    delete: {
      operationId: "deleteWebhook",
      description: "Deletes the endpoint.",
      parameters,
      requestBody: { version: expression("version") },
    },
    deliver: { operationId: "deliverManually", description: "Sends a payload to the endpoint.", parameters },
    deliveries: { operationId: "listDeliveries", description: "The endpoint's history.", parameters },
    changes: { operationId: "listChanges", description: "Who changed the endpoint.", parameters },
  };
}

const { endpoint: _itself, ...further } = endpointAt("");

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

const nextOfAll = (operationId: OperationId, further = ""): Link => ({
  operationId,
  description: `The next part, where \`nextCursor\` isn't null.${further}`,
  parameters: { cursor: "$response.body#/nextCursor" },
});

const nextPart = (operationId: OperationId, further = ""): Link => {
  const link = nextOfAll(operationId, further);
  return { ...link, parameters: { id: "$request.path.id", ...link.parameters } };
};

const SAME_FILTERS = " The filters have to be the same.";

/** What the success responses lead to. Of a list, the links of its first item stand for those of all. */
export const LINKS: Partial<Record<OperationId, Record<string, Link>>> = {
  listWebhooks: endpointAt("/0"),
  listOverviews: endpointAt("/0"),
  createWebhook: endpointAt("/endpoint"),
  editWebhook: endpointAt("/endpoint"),
  readWebhook: further,
  deliverManually: oneDelivery("$response.body#/id"),
  listResends: {
    ...oneResend("$response.body#/resends/0/id"),
    next: nextPart("listResends"),
  },
  startResend: oneResend("$response.body#/id"),
  listChanges: { next: nextPart("listChanges") },
  listAllChanges: { next: nextOfAll("listAllChanges") },
  findEvents: {
    next: nextOfAll("findEvents", SAME_FILTERS),
    event: {
      operationId: "readEvent",
      description: "The event with its body.",
      parameters: { key: "$response.body#/events/0/key" },
    },
  },
  listDeliveries: {
    ...oneDelivery("$response.body#/deliveries/0/id"),
    next: nextPart("listDeliveries", SAME_FILTERS),
  },
  listAllDeliveries: {
    delivery: {
      operationId: "readDelivery",
      description: "The delivery in full.",
      parameters: { id: "$response.body#/deliveries/0/endpointId", deliveryId: "$response.body#/deliveries/0/id" },
    },
    next: nextOfAll("listAllDeliveries", SAME_FILTERS),
  },
};
