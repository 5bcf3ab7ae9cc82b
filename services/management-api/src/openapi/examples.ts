import { attemptHeaders, timestampText } from "@herald/common/security/attempt-headers";
import {
  type Catalogue,
  type CheckWebhookRequest,
  type CheckWebhookResponse,
  DEFAULT_CATALOGUE,
  type DeleteWebhookRequest,
  type DeliverRequest,
  type DeliveryDetails,
  type DeliveryListItem,
  type DeliveryPage,
  type EndpointChange,
  type EndpointChangePage,
  type EndpointDetails,
  type EndpointOverview,
  type EndpointRates,
  type EventDetails,
  type EventListItem,
  type EventPage,
  type EventTypeInfo,
  type Resend,
  type ResendPage,
  type ResendPreview,
  type SaveWebhookRequest,
  type SaveWebhookResponse,
  type SessionInfo,
  type StartResendRequest,
  samplePayload,
  type UndeliveredEvent,
  type WebhookDeliverySummary,
  type WebhookEndpointSummary,
} from "@herald/contracts";
import type { SchemaName } from "@herald/contracts/schemas";
import { DEFAULT_HEADERS, eventTypesOf, exampleType } from "./event-requests.ts";

// One story: an endpoint whose receiver was away for a moment. A test holds each example against its schema.

const endpointId = "01a1f9ac-85a7-7000-8000-05bafe1f0496";
const deliveryId = "019c13d6-f400-8271-9bdf-796608ed68a3";
const resendId = "01a1f9ac-85a7-7000-8000-05bafe1f0498";
const eventKey = "019c13d6-f3f6-8c1f-9d3e-1f2a3b4c5d6e";
const version = "AAAAAAAAAAE=";
const eventType = "WorkItemCompleted";
const startedAt = new Date("2026-01-31T12:00:00.000Z");
const attemptedAtUtc = startedAt.toISOString();
const body = JSON.stringify(samplePayload(eventType));

/** Values of the parameters of paths, by name. */
export const PARAMETER_EXAMPLES: Readonly<Record<string, string>> = {
  id: endpointId,
  deliveryId,
  key: eventKey,
  resendId,
};

const settings = {
  name: "Billing",
  url: "https://hooks.example.com/herald",
  enabled: true,
  events: [eventType],
} satisfies Partial<SaveWebhookRequest>;

const delivery: WebhookDeliverySummary = {
  id: deliveryId,
  businessEventId: "00000000-0000-4000-8000-000000000001",
  eventType,
  attemptCount: 1,
  statusCode: 503,
  succeeded: false,
  errorSummary: "the receiver answered 503",
  attemptedAtUtc,
};

const { businessEventId: _businessEventId, ...manual } = delivery;

const endpoint: WebhookEndpointSummary = {
  id: endpointId,
  ...settings,
  consecutiveFailures: 0,
  deliveries: [],
  version,
};

const item: DeliveryListItem = {
  ...delivery,
  endpointId,
  endpointName: "Billing",
  entityId: "00000000-0000-4000-8000-000000000002",
  failureKind: "http_status",
  outcome: "failing",
  inFlight: false,
  createdAtUtc: "2026-01-31T11:59:59.990Z",
  nextAttemptAtUtc: "2026-01-31T12:01:00.000Z",
  durationMs: 42,
};

const { deliveries: _deliveries, ...listed } = endpoint;

const overview: EndpointOverview = {
  ...listed,
  consecutiveFailures: 1,
  disabledReason: null,
  disabledAtUtc: null,
  disabledBy: null,
  nextTryAtUtc: "2026-01-31T12:00:01.000Z",
  outageSinceUtc: null,
  quarantinedAtUtc: null,
  stoppedSinceUtc: null,
  createdAtUtc: "2026-01-01T08:00:00.000Z",
  updatedAtUtc: "2026-01-01T08:00:00.000Z",
  unfinished: { waiting: 0, failing: 1, parked: 0 },
  lastDelivery: delivery,
  last24Hours: Array.from({ length: 24 }, (_, hour) => ({
    startUtc: new Date(Date.parse("2026-01-30T13:00:00Z") + hour * 3_600_000).toISOString(),
    succeeded: hour === 22 ? 7 : 0,
    waiting: 0,
    failing: hour === 23 ? 1 : 0,
    parked: 0,
    exhausted: 0,
  })),
  countedSinceUtc: "2026-01-30T13:00:00.000Z",
};

const details: EndpointDetails = {
  ...overview,
  failureRun: [
    {
      deliveryId,
      attemptNumber: 1,
      eventType,
      attemptedAtUtc,
      durationMs: 42,
      statusCode: 503,
      errorSummary: "the receiver answered 503",
      failureKind: "http_status",
      responseExcerpt: "Back in a minute.",
    },
  ],
  onResume: null,
};

const change: EndpointChange = {
  endpointId: "0194b2f0-0000-7000-8000-000000000001",
  endpointName: "Billing",
  version: "AAAAAAAAAAI=",
  changedAtUtc: "2026-01-31T08:00:00.000Z",
  kind: "edited",
  changedBy: "admin",
  name: "Ana Lindqvist",
  subject: "user-1",
  before: { name: "Untitled" },
  after: { name: "Billing" },
  secretReplaced: false,
  resent: null,
  delivered: null,
};

const resend: Resend = {
  id: resendId,
  state: "running",
  stopReason: null,
  startedAtUtc: "2026-01-31T14:00:00.000Z",
  startedBy: "Ana Lindqvist",
  endedAtUtc: null,
  stoppedBy: null,
  filter: { eventType: [eventType], statusCode: [], from: "2026-01-31T00:00:00.000Z", to: null },
  total: 1_000,
  bytes: 412_000,
  sent: 412,
  succeeded: 398,
  failed: 0,
  unfinished: 14,
};

const event: EventListItem = {
  key: eventKey,
  id: "00000000-0000-4000-8000-000000000001",
  type: eventType,
  occurredAtUtc: "2026-01-31T11:59:59.990Z",
  receivedAtUtc: "2026-01-31T11:59:59.995Z",
  entityType: "WorkItem",
  entityId: "00000000-0000-4000-8000-000000000002",
  traceparent: null,
  endpoints: [
    { endpointId, endpointName: "Billing", delivery: item, reason: null },
    {
      endpointId: "01a1f9ac-85a7-7000-8000-05bafe1f0497",
      endpointName: "Payroll",
      delivery: null,
      reason: "not_subscribed",
    },
  ],
};

function deliveryDetails(): DeliveryDetails {
  const sent = attemptHeaders({ deliveryId, eventType, startedAt, body }, DEFAULT_HEADERS);
  const headers = sent.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name, sent[index + 1] ?? ""]] : [],
  );
  const { statusCode, errorSummary, failureKind } = { ...item, statusCode: 503 };
  return {
    ...item,
    resendOf: null,
    author: null,
    body,
    attempts: [
      {
        number: 1,
        attemptedAtUtc,
        durationMs: 42,
        statusCode,
        errorSummary,
        failureKind,
        responseExcerpt: "Back in a minute.",
        timestamp: timestampText(startedAt),
        headers,
      },
    ],
  };
}

const session: SessionInfo = {
  subject: "user-1",
  organizationId: "organization-1",
  mayView: true,
  mayManage: true,
  mayDelete: true,
  missing: [],
  expiresAtUtc: "2026-01-31T13:00:00.000Z",
  limits: {
    nameCharacters: 200,
    urlCharacters: 2_048,
    payloadBytes: 262_144,
    endpoints: 100,
    maxAttempts: 5,
    disableAfterFailures: 5,
    attemptTimeoutMs: 15_000,
    retentionDays: 30,
  },
  headerPrefix: DEFAULT_HEADERS.headerPrefix,
};

/** Bodies of requests and of success responses, by their schema; of a list, one item. */
export const EXAMPLES: Partial<Record<SchemaName, unknown>> = {
  CreateWebhookRequest: { ...settings, rotateSecret: false, version: null } satisfies SaveWebhookRequest,
  EditWebhookRequest: { ...settings, enabled: false, rotateSecret: false, version } satisfies SaveWebhookRequest,
  DeleteWebhookRequest: { version } satisfies DeleteWebhookRequest,
  DeliverRequest: { eventType, payloadJson: '{"ping": true}' } satisfies DeliverRequest,
  CheckWebhookRequest: { url: "https://127.0.0.1/hooks" } satisfies CheckWebhookRequest,
  CheckWebhookResponse: {
    errors: [
      {
        pointer: "/url",
        code: "url_host_not_public",
        detail: "The URL's address is loopback, private or reserved: a receiver must have a public one.",
      },
    ],
  } satisfies CheckWebhookResponse,
  WebhookEndpointSummary: { ...endpoint, deliveries: [delivery] } satisfies WebhookEndpointSummary,
  SaveWebhookResponse: {
    endpoint,
    signingSecret: "ZA2fV388tAOL2LlVIf68kfP0wgx+i5DOkQV1lldQ5G0=",
  } satisfies SaveWebhookResponse,
  WebhookDeliverySummary: manual satisfies WebhookDeliverySummary,
  EndpointOverview: overview,
  EndpointDetails: details,
  EndpointRates: {
    endUtc: "2026-01-31T13:00:00.000Z",
    periods: [1, 7, 30].map((days) => ({ days, attempts: 8, succeeded: 7, p50Ms: 25, p95Ms: 90 })),
    hours: overview.last24Hours.map(({ succeeded, failing }) => ({ succeeded, failed: failing })),
    days: Array.from({ length: 30 }, (_, day) =>
      day === 29 ? { succeeded: 7, failed: 1 } : { succeeded: 0, failed: 0 },
    ),
  } satisfies EndpointRates,
  DeliveryPage: { deliveries: [item], nextCursor: "AZwT1vQAgnGb33lmCO1oow" } satisfies DeliveryPage,
  DeliveryDetails: deliveryDetails(),
  EndpointChangePage: { changes: [change], nextCursor: null } satisfies EndpointChangePage,
  EventPage: { events: [event], manualDelivery: null, undelivered: [], nextCursor: null } satisfies EventPage,
  UndeliveredEvent: {
    id: "00000000-0000-4000-8000-000000000003",
    type: "WorkItemCompletd",
    cause: "unknown_type",
    reason: "/type is none that events are delivered of: there is no type of this exact name",
    cameAtUtc: attemptedAtUtc,
  } satisfies UndeliveredEvent,
  EventDetails: { ...event, body } satisfies EventDetails,
  ResendPreview: {
    deliveries: 1_000,
    bytes: 412_000,
    oldestAtUtc: "2026-01-31T03:00:00.000Z",
    newestAtUtc: "2026-01-31T11:59:59.990Z",
    lookedBackToUtc: null,
  } satisfies ResendPreview,
  StartResendRequest: { eventType: [eventType], from: "2026-01-31T00:00:00.000Z" } satisfies StartResendRequest,
  Resend: resend,
  ResendPage: { resends: [resend], nextCursor: null } satisfies ResendPage,
  SessionInfo: session,
  EventTypeInfo: eventTypesOf(DEFAULT_CATALOGUE).find(({ name }) => name === eventType) satisfies
    | EventTypeInfo
    | undefined,
};

export type Examples = typeof EXAMPLES;

/** The same examples, of events of a type that the catalogue has. */
export function examplesOf(catalogue: Catalogue): Examples {
  const type = exampleType(catalogue);
  const { name, entityType } = EXAMPLES.EventTypeInfo as EventTypeInfo;
  const info = eventTypesOf(catalogue).find((each) => each.name === type) as EventTypeInfo;
  const own = new Map<unknown, string>([
    [name, type],
    [entityType, info.entityType],
    [body, JSON.stringify(samplePayload(type, catalogue))],
  ]);
  const renamed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(renamed);
    if (typeof value !== "object" || value === null) return own.get(value) ?? value;
    return Object.fromEntries(Object.entries(value).map(([field, each]) => [field, renamed(each)]));
  };
  return { ...(renamed(EXAMPLES) as Examples), EventTypeInfo: info };
}
