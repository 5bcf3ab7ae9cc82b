import { sharedSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import type { Reads } from "@herald/common/database/queries";
import { type EventSearch, type FoundEvents, searchEvents } from "@herald/common/history/search-events";
import { isUuid, NO_DELIVERY_REASONS, UNDELIVERED_CAUSES } from "@herald/contracts";
import { action, type Command, type CommandContext, JSON_OPTION, positiveInteger, UsageError } from "../command.ts";
import { withDatabase } from "../connections.ts";
import { describeEvent, describeManualDelivery, describeUndelivered, traceIdOf } from "./describe-event.ts";
import { organizationOfDelivery, organizationsWith } from "./organizations-with.ts";

const { PUBLICATION_WINDOW_DAYS } = sharedSettings;
const DAY_MS = 24 * 60 * 60_000;

export const findCommand: Command = {
  summary: "says what became of an event at each endpoint",
  help: `  --event ID          the event with this id, as the product service named it and receivers get it
  --entity ID         the events about this entity, newest first
  --delivery ID       the event of this delivery; a manual delivery is shown itself, since it is of no event
  --organization ID   only this organization's; without it, those of all organizations that have an endpoint
  --limit N           events of each organization, at the most
  --json              prints one object a line

It shows the trace that the event was emitted in, and no payload. In place of a delivery's state it says why there is no delivery:

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
            values.organization === undefined ? await organizationsOf(queries, search) : [values.organization];
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

async function organizationsOf(queries: Reads, { deliveryId, ...ids }: SoughtId): Promise<string[]> {
  if (deliveryId === null) return await organizationsWith(queries, ids);
  const organizationId = await organizationOfDelivery(queries, deliveryId);
  return organizationId === null ? [] : [organizationId];
}

/** Prints what was found of one organization. Returns how much that was. */
function print(
  { stdout, stderr }: CommandContext,
  organizationId: string,
  { events, manualDelivery, undelivered, next }: FoundEvents,
  asJson: boolean,
): number {
  for (const event of events) {
    if (asJson) stdout(`${JSON.stringify({ organizationId, traceId: traceIdOf(event), ...event })}\n`);
    else stdout(`${describeEvent(organizationId, event)}\n`);
  }
  for (const event of undelivered) {
    if (asJson) stdout(`${JSON.stringify({ organizationId, undelivered: event })}\n`);
    else stdout(`${describeUndelivered(organizationId, event)}\n`);
  }
  if (manualDelivery !== null) {
    if (asJson) stdout(`${JSON.stringify({ organizationId, manualDelivery })}\n`);
    else stdout(`${describeManualDelivery(organizationId, manualDelivery)}\n`);
  }
  if (next !== null) stderr(`There may be older events; --limit shows more than these ${events.length}.\n`);
  return events.length + undelivered.length + (manualDelivery === null ? 0 : 1);
}
