import type { ProblemCode } from "@herald/contracts";
import type { SchemaName } from "@herald/contracts/schemas";
import type { Access } from "./authentication/access.ts";

/** The kinds of requests that are limited for each organization, by the minute. */
export type Allowance = "reads" | "writes" | "manualDeliveries";

export interface Operation {
  method: "get" | "post" | "put" | "delete";
  /** Under the API's prefix, as OpenAPI writes it: parameters in braces. */
  path: string;
  /** The rights that its caller needs; null if any valid token is enough. */
  access: Access | null;
  summary: string;
  description: string;
  /** The schema of the body; absent if no body is read. */
  body?: SchemaName;
  /** The handler reports fields that break the body's schema; the request isn't refused for them. */
  reportsBadFields?: true;
  query?: SchemaName;
  /** The allowance that a request uses up; null if nothing is counted. */
  rate: Allowance | null;
  /** How much of it: 1 if it isn't set. With a filter it may be more. */
  points?: number;
  pointsWithFilter?: number;
  success:
    | { status: 200; description: string; schema: SchemaName; isList?: true }
    | { status: 204; description: string };
  /** The problems of this operation alone; those of every operation, and of the ids in its path, are added to them. */
  problems?: readonly ProblemCode[];
  /** A request with an `Idempotency-Key` is done once, however often it comes. */
  takesIdempotencyKey?: true;
}

export const API_PREFIX = "/api/organization/integration-operations";

/**
 * Everything that the API does. Router, OpenAPI document and the tests of permissions are made of this list.
 * If two paths match a request, the earlier one is taken. Without a `rate`, a GET counts as a read, and others as writes.
 */
export const operations = {
  listWebhooks: {
    method: "get",
    path: "/webhooks",
    access: "view",
    summary: "List the endpoints",
    description:
      "All of the organization's endpoints, in the order of their creation, each with its share of the organization's 200 " +
      "most recent deliveries.",
    success: { status: 200, description: "The endpoints.", schema: "WebhookEndpointSummary", isList: true },
  },
  createWebhook: {
    method: "post",
    path: "/webhooks",
    access: "save",
    summary: "Create an endpoint",
    description:
      "The answer holds the endpoint's signing secret, and is the only one that ever does: store it. Saving doesn't connect " +
      "to the URL.",
    body: "CreateWebhookRequest",
    success: { status: 200, description: "The new endpoint and its secret.", schema: "SaveWebhookResponse" },
    takesIdempotencyKey: true,
    problems: ["endpoint_limit_reached", "webhook_not_found"],
  },
  listOverviews: {
    method: "get",
    path: "/webhooks/overview",
    access: "view",
    summary: "See how the endpoints fare",
    description:
      "All of the organization's endpoints by name, each with why and since when it is disabled, what is unfinished, and " +
      "the deliveries of the last 24 hours.",
    points: 10,
    success: { status: 200, description: "The endpoints.", schema: "EndpointOverview", isList: true },
  },
  checkWebhook: {
    method: "post",
    path: "/webhooks/checks",
    access: "manage",
    summary: "Check settings without saving them",
    description: "Answers with what creating or editing would complain about, for the fields that are given.",
    body: "CheckWebhookRequest",
    reportsBadFields: true,
    rate: "reads",
    success: { status: 200, description: "The fields that can't be accepted.", schema: "CheckWebhookResponse" },
  },
  readWebhook: {
    method: "get",
    path: "/webhooks/{id}",
    access: "view",
    summary: "Read one endpoint",
    description: "With the failures that it is in, or that disabled it, and what enabling it would send.",
    points: 10,
    success: { status: 200, description: "The endpoint.", schema: "EndpointDetails" },
  },
  readRates: {
    method: "get",
    path: "/webhooks/{id}/rates",
    access: "view",
    summary: "Read how an endpoint's attempts fared",
    description: "How many succeeded and how long they took, over 1, 7 and 30 days. It changes once a minute.",
    success: { status: 200, description: "The rates.", schema: "EndpointRates" },
  },
  editWebhook: {
    method: "put",
    path: "/webhooks/{id}",
    access: "save",
    summary: "Edit, pause, resume, or replace the secret",
    description:
      "Replaces all settings. `enabled: false` pauses the endpoint: its unfinished deliveries are set aside. " +
      "`enabled: true` resumes it: the failure count starts over, unfinished deliveries go out, and events of the last seven " +
      "days that it missed are delivered; deliveries already at five attempts stay as they are. `rotateSecret: true` makes a " +
      "new signing secret, which is in this answer and in no other; the old one ends at once.",
    body: "EditWebhookRequest",
    success: {
      status: 200,
      description: "The endpoint as it is now, and its secret if it is new.",
      schema: "SaveWebhookResponse",
    },
    takesIdempotencyKey: true,
    problems: ["version_conflict"],
  },
  deleteWebhook: {
    method: "delete",
    path: "/webhooks/{id}",
    access: "manage",
    summary: "Delete an endpoint",
    description:
      "Erases the endpoint, its subscriptions and its delivery history. An attempt under way may still reach the receiver.",
    body: "DeleteWebhookRequest",
    success: { status: 204, description: "The endpoint and its history are gone." },
    takesIdempotencyKey: true,
    problems: ["version_conflict"],
  },
  deliverManually: {
    method: "post",
    path: "/webhooks/{id}/deliver",
    access: "save",
    summary: "Send a payload to an endpoint",
    description:
      "Sends the payload at once, as it is, without an envelope, and waits for the first attempt. 200 says that it was made, " +
      "not that the receiver took it: look at `succeeded`. `attemptCount` is 0 if no attempt could be made in time; it " +
      "then comes later. A failed one is retried like any other.",
    body: "DeliverRequest",
    rate: "manualDeliveries",
    success: { status: 200, description: "How the first attempt went.", schema: "WebhookDeliverySummary" },
    takesIdempotencyKey: true,
    problems: ["endpoint_disabled", "event_not_subscribed"],
  },
  listDeliveries: {
    method: "get",
    path: "/webhooks/{id}/deliveries",
    access: "view",
    summary: "Read an endpoint's history",
    description:
      "Newest first, in parts. A part may hold fewer deliveries than asked for: go on while `nextCursor` isn't null.",
    query: "DeliveryQuery",
    pointsWithFilter: 10,
    success: { status: 200, description: "A part of the history.", schema: "DeliveryPage" },
  },
  listAllDeliveries: {
    method: "get",
    path: "/deliveries",
    access: "view",
    summary: "Read the history of all endpoints",
    description:
      "The deliveries to all of the organization's endpoints, newest first by the time of their events, in parts. A part may hold " +
      "fewer deliveries than asked for: go on while `nextCursor` isn't null.",
    query: "AllDeliveriesQuery",
    points: 10,
    success: { status: 200, description: "A part of the history.", schema: "DeliveryPage" },
  },
  readDelivery: {
    method: "get",
    path: "/webhooks/{id}/deliveries/{deliveryId}",
    access: "view",
    summary: "Read one delivery",
    description: "With the body as sent, and every attempt.",
    success: { status: 200, description: "The delivery.", schema: "DeliveryDetails" },
  },
  listResends: {
    method: "get",
    path: "/webhooks/{id}/resends",
    access: "view",
    summary: "See what was sent again",
    description: "The endpoint's resends, newest first, each with how far it is.",
    query: "ResendQuery",
    points: 10,
    success: { status: 200, description: "A part of the resends.", schema: "ResendPage" },
  },
  previewResend: {
    method: "get",
    path: "/webhooks/{id}/resends/preview",
    access: "view",
    summary: "See what a receiver never got",
    description:
      "Counts what starting a resend with the same filter would send again: deliveries that were given up, have not been sent again since, and are of events that the endpoint is subscribed to. Looks at the 50,000 " +
      "newest deliveries of the period, and counts to 10,000.",
    query: "ResendPreviewQuery",
    points: 10,
    success: { status: 200, description: "What there is.", schema: "ResendPreview" },
  },
  startResend: {
    method: "post",
    path: "/webhooks/{id}/resends",
    access: "save",
    summary: "Send again what a receiver never got",
    description:
      "Makes a new manual delivery of each delivery that the preview counts, oldest first, with exactly its body. No more than 50 of them wait at a time. The " +
      "old deliveries stay as they are. An endpoint has one resend at a time. It ends when the endpoint is paused or disabled.",
    body: "StartResendRequest",
    success: { status: 200, description: "The resend, which runs.", schema: "Resend" },
    takesIdempotencyKey: true,
    problems: ["endpoint_disabled", "nothing_to_resend", "resend_running"],
  },
  readResend: {
    method: "get",
    path: "/webhooks/{id}/resends/{resendId}",
    access: "view",
    summary: "See how far a resend is",
    description: "How many deliveries it has sent, and how these ended.",
    success: { status: 200, description: "The resend.", schema: "Resend" },
  },
  stopResend: {
    method: "post",
    path: "/webhooks/{id}/resends/{resendId}/stop",
    access: "manage",
    summary: "Stop a resend",
    description:
      "Makes no more deliveries. Those that it has made go on. A resend that has ended stays as it is, so this may be repeated.",
    success: { status: 200, description: "The resend, which has ended.", schema: "Resend" },
  },
  listChanges: {
    method: "get",
    path: "/webhooks/{id}/changes",
    access: "view",
    summary: "See who changed an endpoint",
    description:
      "Every change of its settings, newest first, automatic disabling included: who made it, when, and what was before and " +
      "after; and every manual delivery and resend: who sent it, and for how many deliveries. Secrets and payloads are never part of it. Changes are kept as long as deliveries.",
    query: "EndpointChangeQuery",
    success: { status: 200, description: "A part of the changes.", schema: "EndpointChangePage" },
  },
  listAllChanges: {
    method: "get",
    path: "/changes",
    access: "view",
    summary: "See who changed what",
    description:
      "The changes of all of the organization's endpoints, newest first, as one endpoint's changes have them. It holds those of deleted " +
      "endpoints too, and who deleted them: a deletion erases nothing of it. Changes are kept as long as deliveries.",
    query: "EndpointChangeQuery",
    success: { status: 200, description: "A part of the changes.", schema: "EndpointChangePage" },
  },
  findEvents: {
    method: "get",
    path: "/events",
    access: "view",
    summary: "List events, or find some",
    description:
      "The organization's events, newest first, in parts: each with its delivery at each endpoint, or the `reason` why it has " +
      "none. A part may hold fewer events than asked for: go on while `nextCursor` isn't null. Events are listed as long as their day " +
      "is kept. Herald takes no event of a type that no endpoint can subscribe to, none that was older than seven days or in the future " +
      "when it came, and none that broke the contract with the product's services: for seven days, `undelivered` lists these too, by " +
      "the time when they came, and says why.",
    query: "EventQuery",
    points: 10,
    success: { status: 200, description: "A part of the events.", schema: "EventPage" },
  },
  readEvent: {
    method: "get",
    path: "/events/{key}",
    access: "view",
    summary: "Read one event",
    description:
      "With the body that receivers get, and for each endpoint its delivery or the `reason` why it has none.",
    points: 10,
    success: { status: 200, description: "The event.", schema: "EventDetails" },
  },
  readSession: {
    method: "get",
    path: "/session",
    access: null,
    summary: "See what the token allows",
    description: "Who calls, what they may do and what they lack, and the limits of this service.",
    rate: null,
    success: { status: 200, description: "The session.", schema: "SessionInfo" },
  },
  listEventTypes: {
    method: "get",
    path: "/event-types",
    access: "view",
    summary: "List the events",
    description: "What endpoints can subscribe to, each with a sample of its payload.",
    success: { status: 200, description: "The events.", schema: "EventTypeInfo", isList: true },
  },
} as const satisfies Record<string, Omit<Operation, "rate"> & Partial<Pick<Operation, "rate">>>;

/** How much of its allowance a request uses up. Cursor and limit of a query are no filters. */
export function pointsOf({ points = 1, pointsWithFilter = points }: Operation, query: object): number {
  return Object.keys(query).some((name) => name !== "limit" && name !== "cursor") ? pointsWithFilter : points;
}

export type OperationId = keyof typeof operations;

export const operationEntries = Object.entries(operations).map(([id, operation]): [OperationId, Operation] => [
  id as OperationId,
  { rate: operation.method === "get" ? "reads" : "writes", ...operation },
]);

const NOT_FOUND: Readonly<Record<string, ProblemCode>> = {
  id: "webhook_not_found",
  deliveryId: "delivery_not_found",
  key: "event_not_found",
  resendId: "resend_not_found",
};

/** The problem of a request whose path names by this parameter something that doesn't exist. */
export function notFound(parameter: string): ProblemCode {
  return NOT_FOUND[parameter] ?? "webhook_not_found";
}

export function parametersOf({ path }: { path: string }): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}

/** Each path once, in their order, with the operations that it takes. */
export function operationsByPath(): Map<string, [OperationId, Operation][]> {
  return Map.groupBy(operationEntries, ([, { path }]) => path);
}
