import type { SchemaName } from "@herald/contracts";
import type { Access } from "./authentication/access.ts";
import type { ProblemCode } from "./problems/catalogue.ts";

/** Everything that the API can be asked, under its prefix. Router, OpenAPI document and tests are made of this list. */
export interface Operation {
  /** Null where any valid token will do. */
  access: Access | null;
  method: "get" | "post" | "put" | "delete";
  /** As OpenAPI writes it: parameters in braces. */
  path: string;
  summary: string;
  description: string;
  /** What the body must be; none is read where it's absent. */
  body?: SchemaName;
  /** What the query parameters must be. */
  query?: SchemaName;
  /** Whose allowance a request uses up. */
  rate?: "writes" | "manualDeliveries";
  success: { status: 200 | 204; description: string; schema?: SchemaName; isList?: true };
  /** Particular to this operation; what any operation may answer is added to these. */
  problems?: readonly ProblemCode[];
}

export const API_PREFIX = "/api/organization/integration-operations";

export const operations = {
  listWebhooks: {
    access: "view",
    method: "get",
    path: "/webhooks",
    summary: "List the endpoints",
    description:
      "All of the organization's endpoints, in the order of their creation, each with its share of the organization's 200 " +
      "most recent deliveries.",
    success: { status: 200, description: "The endpoints.", schema: "WebhookEndpointSummary", isList: true },
  },
  createWebhook: {
    access: "save",
    method: "post",
    path: "/webhooks",
    summary: "Create an endpoint",
    description: "The answer holds the endpoint's signing secret, and is the only one that does: store it.",
    body: "CreateWebhookRequest",
    rate: "writes",
    success: { status: 200, description: "The new endpoint and its secret.", schema: "SaveWebhookResponse" },
    problems: ["endpoint_limit_reached"],
  },
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;
export const operationEntries = Object.entries(operations) as [OperationId, Operation][];
