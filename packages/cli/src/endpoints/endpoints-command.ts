import { serviceSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import { OPERATOR } from "@herald/common/database/trail";
import { catchUpAgainAt, updateEndpoint } from "@herald/common/database/update-endpoint";
import { isUuid } from "@herald/contracts";
import { action, type Command, JSON_OPTION, oneOf, onlyWord, type RunContext, timeOf, UsageError } from "../command.ts";
import { withDatabase } from "../connections.ts";
import { oneLine, plural, table } from "../output.ts";
import { showEndpoint } from "./show-endpoint.ts";
import {
  COUNTED_AT_MOST,
  deletedEndpoints,
  REASONS,
  type Selection,
  type StoredEndpoint,
  storedEndpoints,
} from "./stored-endpoints.ts";

const { DATABASE_TIMEOUT_SECONDS } = serviceSettings;

const options = {
  "disabled-since": { type: "string" },
  reason: { type: "string" },
  organization: { type: "string" },
  ...JSON_OPTION,
} as const;

const list = action({
  changes: false,
  usage: "  [--organization ID] [--disabled-since TIME] [--reason failures|paused] [--json]",
  options,
  async run(values, context) {
    const selection = selectionOf(values);
    const { disabledSince, organizationId } = selection;
    if (disabledSince === undefined && organizationId === undefined)
      throw new UsageError("It takes --organization, --disabled-since or both.");
    const found = await print(context, selection, values.json);
    context.stderr(`${plural(found, "endpoint")}${disabledSince === undefined ? "" : " disabled"}.\n`);
    if (organizationId === undefined) return;
    const deleted = await withDatabase(context, (queries) => deletedEndpoints(queries, { organizationId }));
    for (const { id, name, deletedAt, deletedBy } of deleted)
      context.stderr(`Deleted: ${id} ${oneLine(name)}, at ${deletedAt.toISOString()} by ${oneLine(deletedBy)}.\n`);
  },
});

const show = action({
  changes: false,
  words: true,
  usage: "  ID [--json]",
  options: JSON_OPTION,
  async run(values, context, words) {
    const id = onlyWord(words, "one endpoint's id");
    if (!isUuid(id)) throw new UsageError(`"${id}" is not an id: ids are UUIDs.`);
    await showEndpoint(context, id.toLowerCase(), values.json);
  },
});

const resume = action({
  changes: (values) => values.apply,
  usage: "--disabled-since TIME --reason failures|paused [--organization ID] [--apply] [--json]",
  options: { ...options, apply: { type: "boolean", default: false } },
  async run(values, context) {
    const disabledSince = timeOf("--disabled-since", values["disabled-since"]);
    const selection = { ...selectionOf(values), disabledSince };
    if (selection.reason === undefined) throw new UsageError(`--reason takes one of ${REASONS.join(", ")}.`);
    const { environment, stdout, stderr } = context;
    if (!values.apply) {
      const found = await print(context, selection, values.json);
      stderr(`${plural(found, "endpoint")} would be resumed; --apply does it.\n`);
      return {};
    }
    const config = readConfig({ DATABASE_TIMEOUT_SECONDS }, environment);
    let [resumed, overtaken] = [0, 0];
    await withDatabase(context, async (queries, clock) => {
      for await (const endpoint of storedEndpoints(queries, selection)) {
        const now = clock.now();
        const { id, organizationId, name, url, events, revision } = endpoint;
        // The same statement as an admin's edit that changes nothing but the flag.
        const row = await updateEndpoint(queries, {
          ...{ id, organizationId, name, url, events, revision },
          enabled: true,
          sealedSecret: null,
          author: OPERATOR,
          now,
          catchUpAgainAt: catchUpAgainAt(now, config),
        });
        if (row === null) overtaken++;
        else resumed++;
        if (values.json) stdout(`${JSON.stringify({ ...shown(endpoint), resumed: row !== null })}\n`);
        else stdout(`${row ? "resumed" : "left, since it changed meanwhile:"} ${rowOf(endpoint).join("  ")}\n`);
      }
    });
    stderr(`${plural(resumed, "endpoint")} resumed.\n`);
    if (overtaken > 0)
      throw new Error(`${plural(overtaken, "endpoint")} changed meanwhile; run it again for the rest.`);
    return { resumed };
  },
});

export const endpointsCommand: Command = {
  summary: "lists and shows endpoints, and resumes many at once",
  actions: { list, show, resume },
  help: `  list     an organization's endpoints, or those that were disabled at that time or later and still are: since when, why, and
           what waits for them; of an organization also which were deleted
  show     all of one endpoint but its secrets, and its newest changes: who paused it, resumed it or edited it, and when. Of a
           deleted one, the changes
  resume   says which it would resume; with --apply it resumes them, one by one, and says each

  --disabled-since TIME   as 2026-01-31T12:00:00Z or 2026-01-31T14:00:00+02:00
  --reason                failures: Herald disabled it; paused: an admin did
  --organization ID       only this organization's
  --json                  prints one object a line

A resume is what an admin's is: the count of failures starts over, what waits goes out, and events of the last days that the
endpoint missed are delivered. Its version changes, so an admin who edits it at the same time gets a conflict. Endpoints that change
between the reading and the resume are left alone: run it again. What waits is counted to ${COUNTED_AT_MOST.toLocaleString("en")}.
`,
};

async function print(context: RunContext, selection: Selection, asJson: boolean): Promise<number> {
  let found = 0;
  const rows: string[][] = [];
  await withDatabase(context, async (queries) => {
    for await (const endpoint of storedEndpoints(queries, selection)) {
      found++;
      context.progress(`${plural(found, "endpoint")} found`);
      if (asJson) context.stdout(`${JSON.stringify(shown(endpoint))}\n`);
      else rows.push(rowOf(endpoint));
    }
  });
  if (rows.length > 0)
    context.stdout(table(["ENDPOINT", "ORGANIZATION", "REASON", "DISABLED", "WAITING", "NAME", "URL"], rows));
  return found;
}

function selectionOf(values: Partial<Record<keyof typeof options, unknown>>): Selection {
  const { reason, organization, ...others } = values as Partial<Record<keyof typeof options, string>>;
  const since = others["disabled-since"];
  return {
    disabledSince: since === undefined ? undefined : timeOf("--disabled-since", since),
    reason: oneOf("--reason", REASONS, reason),
    organizationId: organization,
  };
}

function shown({ id, organizationId, name, url, disabledReason, disabledAt, waiting }: StoredEndpoint): object {
  return { id, organizationId, name, url, disabledReason, disabledAt, waiting };
}

function rowOf({ id, organizationId, name, url, disabledReason, disabledAt, waiting }: StoredEndpoint): string[] {
  const counted = waiting >= COUNTED_AT_MOST ? `${waiting}+` : String(waiting);
  const state = [disabledReason ?? "enabled", disabledAt?.toISOString() ?? ""];
  return [id, organizationId, ...state, counted, name, url].map(oneLine);
}
