import type {
  BusinessEvent,
  Catalogue,
  EndpointChanged,
  EventData,
  HandOver,
  ManualReply,
  ManualRequest,
  Notice,
  NoticeAttempt,
} from "@herald/contracts";

// The compiler checks the examples against the contracts' types, and a test against their schemas.

const businessEvent: BusinessEvent = {
  organizationId: "org-1",
  id: "0199f3a2-7c1e-7b5a-9d3e-1f2a3b4c5d6e",
  type: "WorkItemCompleted",
  occurredAtUtc: "2026-11-20T09:30:00.000Z",
  entityType: "WorkItem",
  entityId: "0199f3a2-0000-7000-8000-00000000002a",
  data: { changes: { Status: { oldValue: "InProgress", newValue: "Done" } } },
};

const endpointId = "0199f3a2-8000-7000-8000-0000000000e1";

const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

const handOver: HandOver = {
  stored: false,
  events: [
    {
      eventType: "WorkItemCompleted",
      body: JSON.stringify(businessEvent),
      traceparent: TRACEPARENT,
      key: "0199f3a2-7c1e-8d3e-8b5a-1f2a3b4c5d6e",
      receivedAtUtc: "2026-11-20T09:30:00.100Z",
    },
  ],
  deliveries: [
    {
      deliveryId: "0199f3a2-7c1e-8b5a-9d3e-1f2a3b4c5d6e",
      endpointId,
      organizationId: "org-1",
      revision: "4",
      readAtUtc: "2026-11-20T09:29:59.900Z",
      event: 0,
    },
  ],
  work: [],
};

const work: HandOver = {
  stored: true,
  events: [],
  deliveries: [],
  work: [{ endpointId, organizationId: "org-1" }],
};

const endpointChanged: EndpointChanged = { kind: "changed", endpointId, organizationId: "org-1" };

const manualRequest: ManualRequest = {
  kind: "manual",
  deliveryId: "0199f3a2-8000-7000-8000-000000000001",
  endpointId,
  organizationId: "org-1",
  dueAtUtc: "2026-11-20T09:33:03.000Z",
};

const manualReply: ManualReply = { deliveryId: manualRequest.deliveryId, attempted: true };

const attempts: NoticeAttempt[] = [1, 2, 3].map((number) => ({
  deliveryId: manualRequest.deliveryId,
  eventType: "WorkItemCompleted",
  number,
  attemptedAtUtc: `2026-11-20T09:3${number}:00.000Z`,
  statusCode: 500,
  errorSummary: "receiver answered 500",
}));

const about = {
  id: "0199f3a2-9000-7000-8000-000000000001",
  occurredAtUtc: "2026-11-20T09:33:00.120Z",
  organizationId: "org-1",
  endpoint: { id: endpointId, name: "Billing", origin: "https://hooks.example.com" },
};

const author = { changedBy: "admin", name: "Ana", subject: "auth0|7" } as const;

const notices: Record<string, Notice> = {
  "An endpoint is failing": {
    ...about,
    type: "endpoint.failing",
    reason: "3 attempts in a row failed (the latest: receiver answered 500).",
    consecutiveFailures: 3,
    attempts,
  },
  "An endpoint works again": {
    ...about,
    type: "endpoint.recovered",
    reason: "The endpoint works again: a delivery succeeded after 3 failed attempts in a row.",
    consecutiveFailures: 3,
    attempts,
  },
  "Deliveries were given up": {
    ...about,
    type: "endpoint.exhausted",
    reason: "2 deliveries were given up, since their last attempts failed too.",
    deliveries: 2,
    firstAtUtc: "2026-11-20T09:31:00.000Z",
    lastAtUtc: "2026-11-20T09:32:00.000Z",
  },
  "Deliveries expired": {
    ...about,
    type: "endpoint.expired",
    reason: "2 deliveries were still unfinished when they were too old to be kept, so they were given up.",
    deliveries: 2,
    firstAtUtc: "2026-10-21T09:31:00.000Z",
    lastAtUtc: "2026-10-21T09:32:00.000Z",
  },
  "An endpoint was resumed": {
    ...about,
    type: "endpoint.resumed",
    reason: "The endpoint was resumed by Ana.",
    author,
  },
  "A signing secret was replaced": {
    ...about,
    type: "endpoint.secret_replaced",
    reason: "The signing secret was replaced by Ana: attempts that begin later are signed with the new one.",
    author,
  },
  "An event was rejected": {
    id: about.id,
    type: "event.rejected",
    occurredAtUtc: about.occurredAtUtc,
    organizationId: "org-1",
    reason: "/entityId must be a UUID",
    eventId: businessEvent.id,
    eventType: "WorkItemCompleted",
    cause: "rejected",
    events: 1,
  },
};

/** Examples of each message, by its name in the document; of events one of each type. */
export const examplesOf = (catalogue: Catalogue) => ({
  businessEvent: Object.entries(catalogue).map(([type, { entityType, emittedWhen, sample }]) => ({
    name: `${type}: ${emittedWhen}`,
    headers: { traceparent: TRACEPARENT },
    payload: { ...businessEvent, type, entityType, data: sample as EventData },
  })),
  rejectedEvent: [
    {
      name: "An event without its entity",
      headers: { "x-herald-reason": "the event must have required property 'entityType'" },
      payload: { ...businessEvent, entityType: undefined },
    },
  ],
  handOver: [
    { name: "An event was stored", payload: handOver },
    { name: "An endpoint was caught up", payload: work },
  ],
  endpointChanged: [{ name: "An endpoint was edited", payload: endpointChanged }],
  manualRequest: [{ name: "A manual delivery was made", payload: manualRequest }],
  manualReply: [{ name: "The first attempt was made", payload: manualReply }],
  notice: Object.entries(notices).map(([name, payload]) => ({ name, payload })),
});

export type Examples = ReturnType<typeof examplesOf>;
