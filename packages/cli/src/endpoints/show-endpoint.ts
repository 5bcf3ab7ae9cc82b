import type { Reads } from "@herald/common/database/queries";
import type { EndpointChange } from "@herald/contracts";
import { readTrail } from "@herald/management-api/endpoints/changes";
import type { CommandContext } from "../command.ts";
import { withDatabase } from "../connections.ts";
import { counted, factsTable, oneLine, table } from "../output.ts";
import { COUNTED_AT_MOST, deletedEndpoints, type StoredEndpoint, storedEndpoints } from "./stored-endpoints.ts";

const CHANGES = 20;

/** Prints an endpoint with its newest changes; of a deleted one, the changes. @throws Error if there is none, or its trail has been erased */
export async function showEndpoint(context: CommandContext, id: string, asJson: boolean): Promise<void> {
  const { endpoint, changes } = await withDatabase(context, (queries) => readEndpoint(queries, id));
  if (asJson) {
    const shown = endpoint === null ? { id, deleted: true } : { ...endpoint, revision: undefined };
    context.stdout(`${JSON.stringify({ ...shown, changes })}\n`);
    return;
  }
  const facts = endpoint === null ? [["state", "deleted"]] : factsOf(endpoint);
  const rows = changes.map(rowOf).map((row) => row.map(oneLine));
  context.stdout(factsTable("ENDPOINT", id, facts));
  if (rows.length > 0) context.stdout(`\n${table(["CHANGED", "KIND", "BY", "BEFORE", "AFTER"], rows)}`);
}

async function readEndpoint(
  queries: Reads,
  id: string,
): Promise<{ endpoint: StoredEndpoint | null; changes: EndpointChange[] }> {
  const { value: endpoint = null } = await storedEndpoints(queries, { id }).next();
  const [known] = endpoint === null ? await deletedEndpoints(queries, { id }) : [endpoint];
  if (known === undefined) throw new Error(`There is no endpoint ${id}, and no deletion of it is kept.`);
  const of = { organizationId: known.organizationId, endpointId: id };
  return { endpoint, changes: (await readTrail(queries, of, { limit: CHANGES })).changes };
}

function factsOf(endpoint: StoredEndpoint): string[][] {
  const { consecutiveFailures, pausedUntil, quarantinedAt } = endpoint;
  return [
    ["organization", endpoint.organizationId],
    ["name", endpoint.name],
    ["url", endpoint.url],
    ["state", stateOf(endpoint)],
    [
      "quarantined",
      quarantinedAt === null ? "no" : `since ${quarantinedAt.toISOString()}: no dispatcher opens its secret`,
    ],
    ["failures in a row", String(consecutiveFailures)],
    ["attempts wait until", pausedUntil?.toISOString() ?? "no limit"],
    ["deliveries that wait", counted(endpoint.waiting, COUNTED_AT_MOST)],
    ["created", endpoint.createdAt.toISOString()],
    ["own headers", endpoint.headerNames.join(", ") || "none"],
    ...endpoint.events.map((type, index) => [index === 0 ? "events" : "", type]),
  ];
}

function stateOf({ disabledReason, disabledAt, disabledBy }: StoredEndpoint): string {
  if (disabledReason === null) return "enabled";
  const by = disabledReason === "failures" ? "Herald, after failures" : (disabledBy ?? "an admin without a name");
  return `disabled since ${disabledAt?.toISOString()} by ${by}`;
}

function rowOf({ changedAtUtc, kind, changedBy, name, subject, before, after }: EndpointChange): string[] {
  const settings = (value: object | null) => (value === null ? "" : JSON.stringify(value));
  return [changedAtUtc, kind, name ?? subject ?? changedBy, settings(before), settings(after)];
}
