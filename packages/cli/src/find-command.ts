import { sharedSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import { Prisma } from "@herald/common/database/generated/client";
import type { Reads } from "@herald/common/database/queries";
import { type EventSearch, type FoundEvents, searchEvents } from "@herald/common/history/search-events";
import {
  type EndpointDelivery,
  type EventListItem,
  isUuid,
  NO_DELIVERY_REASONS,
  UNDELIVERED_CAUSES,
  type UndeliveredEvent,
} from "@herald/contracts";
import { action, type Command, type CommandContext, JSON_OPTION, positiveInteger, UsageError } from "./command.ts";
import { withDatabase } from "./connections.ts";
import { oneLine, table } from "./output.ts";

const { PUBLICATION_WINDOW_DAYS } = sharedSettings;
const DAY_MS = 24 * 60 * 60_000;

export const findCommand: Command = {
  summary: "says what became of an event at each endpoint",
  help: `  --event ID          the event with this id, as the product service named it and receivers get it
  --entity ID         the events about this entity, newest first
  --delivery ID       the event of this delivery; a manual delivery is shown itself, since it is of no event
  --organization ID   only this organization's; without it, those of all organizations that have an endpoint
  --limit N           at most this many events of each organization
  --json              prints one object a line

It shows the trace that the event was emitted in, and no payload. In place of a delivery's outcome it says why there is no delivery:

${Object.entries(NO_DELIVERY_REASONS)
  .map(([reason, sentence]) => `  ${reason}\n      ${sentence}`)
  .join("\n")}

Events are found as long as their day is kept (RETENTION_DAYS). By --event, what Herald did not take is found for
PUBLICATION_WINDOW_DAYS, with its cause; of very many in an hour the first ones are known:

${Object.entries(UNDELIVERED_CAUSES)
  .map(([cause, sentence]) => `  ${cause}\n      ${sentence}`)
  .join("\n")}
`,
  actions: {
    "": action({
      changes: false,
      usage: "--event ID | --entity ID | --delivery ID [--organization ID] [--limit 10] [--json]",
      options: {
        event: { type: "string" },
        entity: { type: "string" },
        delivery: { type: "string" },
        organization: { type: "string" },
        limit: { type: "string", default: "10" },
        ...JSON_OPTION,
      },
      async run(values, context) {
        const all = { idPrefix: null, types: [], firstKey: null, before: null };
        const search = { ...all, ...idOf(values), limit: positiveInteger("--limit", values.limit) };
        const config = readConfig({ PUBLICATION_WINDOW_DAYS }, context.environment);
        const windowMs = config.PUBLICATION_WINDOW_DAYS * DAY_MS;
        let count = 0;
        await withDatabase(context, async (queries, clock) => {
          const now = clock.now();
          const organizations =
            values.organization === undefined ? await organizationsWith(queries, search) : [values.organization];
          for (const organizationId of organizations) {
            const found = await searchEvents({ queries, now, windowMs }, { ...search, organizationId });
            count += print(context, organizationId, found, values.json);
          }
        });
        if (count === 0) context.stderr('Nothing was found. "herald find --help" says what can be.\n');
      },
    }),
  },
};

type SoughtId = Pick<EventSearch, "eventId" | "entityId" | "deliveryId">;

/** @throws UsageError unless exactly one of the ids is given */
function idOf(values: Partial<Record<"event" | "entity" | "delivery", string | undefined>>): SoughtId {
  const [eventId = null, entityId = null, deliveryId = null] = [values.event, values.entity, values.delivery].map(
    (id) => id?.toLowerCase(),
  );
  const given = [eventId, entityId, deliveryId].filter((id) => id !== null);
  if (given.length !== 1) throw new UsageError("It takes one of --event, --entity and --delivery.");
  if (!given.every(isUuid)) throw new UsageError(`"${given[0]}" is not an id: ids are UUIDs.`);
  return { eventId, entityId, deliveryId };
}

/** Prints what was found of one organization. Returns how much that was. */
function print(
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
function traceIdOf({ traceparent }: Pick<EventListItem, "traceparent">): string | null {
  return /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(traceparent ?? "")?.[1] ?? null;
}

/** An event, and what became of it at each endpoint, for a person. */
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

/** An event that was not taken, for a person. */
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

/** A manual delivery, which is of no event, for a person. */
function describeManualDelivery(organizationId: string, found: EndpointDelivery): string {
  const facts = [["organization", organizationId]];
  return `${factsTable("MANUAL DELIVERY", found.delivery?.id ?? "", facts)}\n${describeEndpoints([found])}`;
}

function factsTable(what: string, id: string, facts: string[][]): string {
  return table(
    [what, id],
    facts.map((row) => row.map(oneLine)),
  );
}

function describeEndpoints(endpoints: readonly EndpointDelivery[]): string {
  if (endpoints.length === 0) return "The organization has no endpoint.\n";
  const headings = ["ENDPOINT", "NAME", "DELIVERY", "OUTCOME", "ATTEMPTS", "STATUS", "NEXT ATTEMPT", "ERROR"];
  const reasons = new Set(endpoints.flatMap(({ reason }) => reason ?? []));
  const legend = [...reasons].map((reason) => `${reason}: ${NO_DELIVERY_REASONS[reason]}\n`);
  return table(headings, endpoints.map(rowOf)) + (legend.length > 0 ? `\n${legend.join("")}` : "");
}

function rowOf({ endpointId, endpointName, delivery, reason }: EndpointDelivery): string[] {
  const of = (texts: unknown[]) => [endpointId, endpointName, ...texts].map((text) => oneLine(String(text ?? "")));
  if (delivery === null) return of(["none", reason]);
  const { id, outcome, inFlight, attemptCount, statusCode, nextAttemptAtUtc, errorSummary } = delivery;
  return of([
    id,
    inFlight ? `${outcome}, in flight` : outcome,
    attemptCount,
    statusCode,
    nextAttemptAtUtc,
    errorSummary,
  ]);
}

/** An id is one event's, and an entity one organization's: several have it only by a product service's mistake. */
const AT_MOST = 100;

/**
 * The organizations that have an endpoint, and an event with this id or about this entity; the one that has this delivery; and those of which
 * an event with this id came and was not taken, whether they have an endpoint or not: it may have named a wrong one.
 *
 * Locks nothing. Reads the endpoints, which are few, and looks for each organization into
 * business_event_organization_id_id_idx or business_event_organization_id_entity_id_key_idx, once a partition. So it takes a
 * moment where there are very many organizations; only an operator asks. A delivery is looked for in delivery_pkey, in one partition.
 */
export async function organizationsWith(
  queries: Reads,
  { eventId, entityId, deliveryId }: SoughtId,
): Promise<string[]> {
  const fits = eventId === null ? Prisma.sql`entity_id = ${entityId}::uuid` : Prisma.sql`id = ${eventId}::uuid`;
  const rows = await queries.$queryRaw<{ id: string }[]>`
    select organization.id as id
    from (select distinct organization_id as id from webhook_endpoint) as organization
    cross join lateral (
      select from business_event where organization_id = organization.id and ${fits} limit 1
    ) as event
    union
    select organization_id from undelivered_event where event_id = ${eventId}::uuid
    union
    select organization_id from delivery where id = ${deliveryId}::uuid
    order by id
    limit ${AT_MOST}::int`;
  return rows.map(({ id }) => id);
}
