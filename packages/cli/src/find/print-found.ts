import type { FoundEvents } from "@herald/common/history/search-events";
import {
  type EndpointDelivery,
  type EventListItem,
  NO_DELIVERY_REASONS,
  OUTCOMES,
  UNDELIVERED_CAUSES,
  type UndeliveredEvent,
} from "@herald/contracts";
import type { CommandContext } from "../command.ts";
import { factsTable, oneLine, table } from "../output.ts";

/** Prints what was found of one organization. Returns how much that was. */
export function printFound(
  { stdout, stderr }: CommandContext,
  organizationId: string,
  { events, manualDelivery, undelivered, next }: FoundEvents,
  asJson: boolean,
): number {
  const say = (found: object, described: string) =>
    stdout(`${asJson ? JSON.stringify({ organizationId, ...found }) : described}\n`);
  for (const event of events) say({ traceId: traceIdOf(event), ...event }, describeEvent(organizationId, event));
  for (const event of undelivered) say({ undelivered: event }, describeUndelivered(organizationId, event));
  if (manualDelivery !== null) say({ manualDelivery }, describeManualDelivery(organizationId, manualDelivery));
  if (next !== null) stderr(`There may be older events; --limit shows more than these ${events.length}.\n`);
  return events.length + undelivered.length + (manualDelivery === null ? 0 : 1);
}

/** The trace that an event was emitted in; null if it came without one. */
function traceIdOf({ traceparent }: EventListItem): string | null {
  return /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(traceparent ?? "")?.[1] ?? null;
}

function describeEvent(organizationId: string, event: EventListItem): string {
  const facts = [
    ["organization", organizationId],
    ["type", event.type],
    ["occurred", event.occurredAtUtc],
    ["received", event.receivedAtUtc],
    ["entity", `${event.entityType ?? "(kind unknown)"} ${event.entityId}`],
    ["key", event.key],
    ["trace", traceIdOf(event) ?? "none"],
  ];
  return `${factsTable("EVENT", event.id, facts)}\n${describeEndpoints(event.endpoints)}`;
}

function describeUndelivered(organizationId: string, event: UndeliveredEvent): string {
  const facts = [
    ["organization", organizationId],
    ["type", event.type ?? "none"],
    ["came", event.cameAtUtc],
    ["cause", event.cause],
    ["reason", event.reason],
  ];
  return `${factsTable("NOT DELIVERED", event.id, facts)}\n${UNDELIVERED_CAUSES[event.cause]}\n`;
}

function describeManualDelivery(organizationId: string, found: EndpointDelivery): string {
  const facts = [["organization", organizationId]];
  return `${factsTable("MANUAL DELIVERY", found.delivery?.id ?? "", facts)}\n${describeEndpoints([found])}`;
}

function describeEndpoints(endpoints: readonly EndpointDelivery[]): string {
  if (endpoints.length === 0) return "The organization has no endpoint.\n";
  const headings = ["ENDPOINT", "NAME", "DELIVERY", "OUTCOME", "ATTEMPTS", "LATEST", "STATUS", "NEXT ATTEMPT", "ERROR"];
  const names = new Set(endpoints.flatMap(({ delivery, reason }) => delivery?.outcome ?? reason ?? []));
  const legend = [...names].map((name) => `${name}: ${{ ...OUTCOMES, ...NO_DELIVERY_REASONS }[name]}\n`);
  return `${table(headings, endpoints.map(rowOf))}\n${legend.join("")}`;
}

function rowOf({ endpointId, endpointName, delivery, reason }: EndpointDelivery): string[] {
  const of = (texts: unknown[]) => [endpointId, endpointName, ...texts].map((text) => oneLine(String(text ?? "")));
  if (delivery === null) return of(["none", reason]);
  const { outcome, failureKind, attemptedAtUtc, nextAttemptAtUtc } = delivery;
  return of([
    delivery.id,
    delivery.inFlight ? `${outcome}, due now` : outcome,
    delivery.attemptCount,
    attemptedAtUtc,
    // An attempt that got no answer is recorded as 503 (SPEC 2.2).
    failureKind === null || failureKind === "http_status" ? delivery.statusCode : null,
    nextAttemptAtUtc,
    delivery.errorSummary,
  ]);
}
