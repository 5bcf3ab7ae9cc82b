import { sharedSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import { Prisma } from "@herald/common/database/generated/client";
import { firstIdAt, timeOf as timeOfId } from "@herald/common/database/ids";
import type { Reads } from "@herald/common/database/queries";
import { type EventSearch, type SearchParts, searchEvents } from "@herald/common/history/search-events";
import { isUuid, NO_DELIVERY_REASONS, UNDELIVERED_CAUSES } from "@herald/contracts";
import {
  action,
  type Command,
  type CommandContext,
  JSON_OPTION,
  positiveInteger,
  timeOf,
  UsageError,
} from "../command.ts";
import { withDatabase } from "../connections.ts";
import { deletedEndpoints, storedEndpoints } from "../endpoints/stored-endpoints.ts";
import { oneLine } from "../output.ts";
import { printFound } from "./print-found.ts";

const { PUBLICATION_WINDOW_DAYS } = sharedSettings;
const DAY_MS = 24 * 60 * 60_000;

export const findCommand: Command = {
  summary: "says what became of an event at each endpoint",
  help: `  --event ID          the event with this id, as the product service named it and receivers get it
  --entity ID         the events about this entity, newest first
  --delivery ID       the event of this delivery; a manual delivery is shown itself, since it is of no event
  --organization ID   only this organization's, and without an id its newest; if absent, those of all organizations that have an endpoint
  --since, --until    only events that occurred at that time or later, and before that one, as 2026-01-31T12:00:00Z or
                      2026-01-31T14:00:00+02:00
  --type TYPE         only events of this type, as WorkItemCompleted
  --limit N           at most this many events of each organization
  --json              prints one object a line

It shows the trace that the event was emitted in, and no payload. In place of a delivery's outcome it says why there is no delivery:

${Object.entries(NO_DELIVERY_REASONS)
  .map(([reason, sentence]) => `  ${reason}\n      ${sentence}`)
  .join("\n")}

The reason is by the endpoint as it is now: "herald endpoints show" says how it was. Events are found as long as their day is kept
(RETENTION_DAYS). What Herald did not take is found for PUBLICATION_WINDOW_DAYS by --event, and by --organization at the time when it
came, with its cause; of very many in an hour the first ones are known:

${Object.entries(UNDELIVERED_CAUSES)
  .map(([cause, sentence]) => `  ${cause}\n      ${sentence}`)
  .join("\n")}
`,
  actions: {
    "": action({
      changes: false,
      usage:
        "--event ID | --entity ID | --delivery ID | --organization ID [--organization ID] [--since TIME] [--until TIME] [--type TYPE] [--limit 10] [--json]",
      options: {
        event: { type: "string" },
        entity: { type: "string" },
        delivery: { type: "string" },
        organization: { type: "string" },
        since: { type: "string" },
        until: { type: "string" },
        type: { type: "string" },
        limit: { type: "string", default: "10" },
        ...JSON_OPTION,
      },
      async run(values, context) {
        const id = idOf(values);
        const search = { idPrefix: null, ...id, ...termsOf(values), limit: positiveInteger("--limit", values.limit) };
        const config = readConfig({ PUBLICATION_WINDOW_DAYS }, context.environment);
        const windowMs = config.PUBLICATION_WINDOW_DAYS * DAY_MS;
        await withDatabase(context, async (queries, clock) => {
          const parts = { queries, now: clock.now(), windowMs };
          const organizations =
            values.organization === undefined ? await organizationsWith(queries, search) : [values.organization];
          let count = 0;
          for (const organizationId of organizations)
            count += await findOf(context, parts, { ...search, organizationId }, values.json);
          if (values.organization !== undefined)
            await explain(context, parts, { ...search, organizationId: values.organization }, count);
          if (count === 0)
            context.stderr(
              'Nothing was found. "herald doctor" says whether events wait to be stored, "herald rejected list" what came without an id that ' +
                'can be read, and "herald find --help" what can be found.\n',
            );
        });
      },
    }),
  },
};

type Given = Partial<
  Record<"event" | "entity" | "delivery" | "organization" | "since" | "until" | "type", string | undefined>
>;

/** @throws UsageError unless one of the ids is given, or an organization */
function idOf(values: Given): SoughtId {
  const [eventId = null, entityId = null, deliveryId = null] = [values.event, values.entity, values.delivery].map(
    (id) => id?.toLowerCase(),
  );
  const given = [eventId, entityId, deliveryId].filter((id) => id !== null);
  if (given.length > 1 || (given.length === 0 && values.organization === undefined))
    throw new UsageError("It takes one of --event, --entity and --delivery, or --organization.");
  if (!given.every(isUuid)) throw new UsageError(`"${given[0]}" is not an id: ids are UUIDs.`);
  return { eventId, entityId, deliveryId };
}

/** @throws UsageError for a time without a zone, or an end before the beginning */
function termsOf({ since, until, type }: Given): Pick<EventSearch, "firstKey" | "before" | "types"> {
  const [from, to] = [since && timeOf("--since", since), until && timeOf("--until", until)];
  if (from && to && from >= to) throw new UsageError("--since takes a time before that of --until.");
  return { firstKey: from ? firstIdAt(from) : null, before: to ? firstIdAt(to) : null, types: type ? [type] : [] };
}

/** Prints what is found of one organization, in as many parts as it takes to fill the limit. Returns how much that was. */
async function findOf(
  context: CommandContext,
  parts: SearchParts,
  search: EventSearch,
  asJson: boolean,
): Promise<number> {
  let [count, left, before] = [0, search.limit, search.before];
  do {
    const found = await searchEvents(parts, { ...search, before, limit: left });
    count += printFound(context, search.organizationId, found, asJson);
    left -= found.events.length;
    before = found.next;
  } while (before !== null && left > 0);
  if (before !== null) context.stderr(`There may be older events; --limit shows more than these ${search.limit}.\n`);
  return count;
}

/** Says what a search of one organization can't show: endpoints that were deleted since, and how far the search missed if it found nothing. */
async function explain(
  { stderr }: CommandContext,
  parts: SearchParts,
  search: EventSearch,
  count: number,
): Promise<void> {
  const { organizationId, firstKey } = search;
  const since = firstKey === null ? new Date(0) : timeOfId(firstKey);
  const deleted = await deletedEndpoints(parts.queries, { organizationId, since });
  for (const { id, name, deletedAt, deletedBy } of deleted)
    stderr(`Endpoint ${id} "${oneLine(name)}" was deleted at ${deletedAt.toISOString()} by ${oneLine(deletedBy)}.\n`);
  if (count > 0) return;
  const anything = { eventId: null, entityId: null, deliveryId: null, idPrefix: null, types: [], firstKey: null };
  const { events, undelivered } = await searchEvents(parts, { organizationId, ...anything, before: null, limit: 1 });
  const newest = events[0]?.occurredAtUtc ?? undelivered[0]?.cameAtUtc;
  const { done: isWithoutEndpoint } = await storedEndpoints(parts.queries, { organizationId }).next();
  if (newest !== undefined) stderr(`The newest event of this organization is of ${newest}.\n`);
  else if (!isWithoutEndpoint || deleted.length > 0) stderr("No event of this organization is kept.\n");
  else
    stderr(
      "Herald knows no organization of this id: no endpoint and no event. Ids are compared exactly, capitals too.\n",
    );
}

export type SoughtId = Pick<EventSearch, "eventId" | "entityId" | "deliveryId">;

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
