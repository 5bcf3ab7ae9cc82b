import {
  type EndpointDelivery,
  type EventListItem,
  NO_DELIVERY_REASONS,
  UNDELIVERED_CAUSES,
  type UndeliveredEvent,
} from "@herald/contracts";
import { oneLine, table } from "../output.ts";

/** The trace that an event was emitted in; null where it came without one. */
export function traceIdOf({ traceparent }: Pick<EventListItem, "traceparent">): string | null {
  return /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(traceparent ?? "")?.[1] ?? null;
}

/** An event, and what became of it at each endpoint, for a person. */
export function describeEvent(organizationId: string, event: EventListItem): string {
  const facts = [
    ["organization", organizationId],
    ["type", event.type],
    ["occurred", event.occurredAtUtc],
    ["received", event.receivedAtUtc],
    ["entity", `${event.entityType ?? "(kind unknown)"} ${event.entityId}`],
    ["key", event.key],
    ["trace", traceIdOf(event) ?? "none"],
  ];
  const rows = facts.map((row) => row.map(oneLine));
  return `${table(["EVENT", event.id], rows)}\n${describeEndpoints(event.endpoints)}`;
}

/** An event that was not taken, for a person. */
export function describeUndelivered(organizationId: string, event: UndeliveredEvent): string {
  const facts = [
    ["organization", organizationId],
    ["type", event.type ?? "none"],
    ["came", event.cameAtUtc],
    ["cause", event.cause],
    ["reason", event.reason],
  ];
  const rows = facts.map((row) => row.map(oneLine));
  return `${table(["NOT DELIVERED", event.id], rows)}\n${UNDELIVERED_CAUSES[event.cause]}\n`;
}

/** A manual delivery, which is of no event, for a person. */
export function describeManualDelivery(organizationId: string, found: EndpointDelivery): string {
  const facts = [["organization", oneLine(organizationId)]];
  return `${table(["MANUAL DELIVERY", found.delivery?.id ?? ""], facts)}\n${describeEndpoints([found])}`;
}

function describeEndpoints(endpoints: readonly EndpointDelivery[]): string {
  if (endpoints.length === 0) return "The organization has no endpoint.\n";
  const headings = ["ENDPOINT", "NAME", "DELIVERY", "STATE", "ATTEMPTS", "STATUS", "NEXT ATTEMPT", "ERROR"];
  const reasons = new Set(endpoints.flatMap(({ reason }) => reason ?? []));
  const legend = [...reasons].map((reason) => `${reason}: ${NO_DELIVERY_REASONS[reason]}\n`);
  return table(headings, endpoints.map(rowOf)) + (legend.length > 0 ? `\n${legend.join("")}` : "");
}

function rowOf({ endpointId, endpointName, delivery, reason }: EndpointDelivery): string[] {
  const of = (texts: unknown[]) => [endpointId, endpointName, ...texts].map((text) => oneLine(String(text ?? "")));
  if (delivery === null) return of(["none", reason]);
  const { id, state, inFlight, attemptCount, statusCode, nextAttemptAtUtc, errorSummary } = delivery;
  return of([id, inFlight ? "due" : state, attemptCount, statusCode, nextAttemptAtUtc, errorSummary]);
}
