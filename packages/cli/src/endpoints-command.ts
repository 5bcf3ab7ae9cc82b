import { serviceSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import type { Queries } from "@herald/common/database/queries";
import { catchUpAgainAt, OPERATOR, updateEndpoint } from "@herald/common/database/update-endpoint";
import { action, type Command, JSON_OPTION, oneOf, type RunContext, timeOf, UsageError } from "./command.ts";
import { withDatabase } from "./connections.ts";
import { oneLine, plural, table } from "./output.ts";

const { DATABASE_TIMEOUT_SECONDS } = serviceSettings;
const REASONS = ["failures", "paused"] as const;
const COUNTED_AT_MOST = 1_000;
const PAGE_SIZE = 100;

const options = {
  "disabled-since": { type: "string" },
  reason: { type: "string" },
  organization: { type: "string" },
  ...JSON_OPTION,
} as const;

const list = action({
  changes: false,
  usage: "  --disabled-since TIME [--reason failures|paused] [--organization ID] [--json]",
  options,
  async run(values, context) {
    const found = await show(context, selectionOf(values), values.json);
    context.stderr(`${plural(found, "endpoint")} disabled.\n`);
  },
});

const resume = action({
  changes: (values) => values.apply,
  usage: "--disabled-since TIME --reason failures|paused [--organization ID] [--apply] [--json]",
  options: { ...options, apply: { type: "boolean", default: false } },
  async run(values, context) {
    const selection = selectionOf(values);
    if (selection.reason === null) throw new UsageError(`--reason takes one of ${REASONS.join(", ")}.`);
    const { environment, stdout, stderr } = context;
    if (!values.apply) {
      const found = await show(context, selection, values.json);
      stderr(`${plural(found, "endpoint")} would be resumed; --apply does it.\n`);
      return {};
    }
    const statementTimeoutMs = readConfig({ DATABASE_TIMEOUT_SECONDS }, environment).DATABASE_TIMEOUT_SECONDS * 1_000;
    let [resumed, overtaken] = [0, 0];
    await withDatabase(context, async (queries, clock) => {
      for await (const endpoint of disabledEndpoints(queries, selection)) {
        const now = clock.now();
        const { disabledReason: _reason, disabledAt: _at, waiting: _waiting, ...configuration } = endpoint;
        // The same statement as an admin's edit that changes nothing but the flag.
        const row = await updateEndpoint(queries, {
          ...configuration,
          enabled: true,
          sealedSecret: null,
          author: OPERATOR,
          now,
          catchUpAgainAt: catchUpAgainAt(now, { statementTimeoutMs }),
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
  summary: "lists disabled endpoints and resumes many at once",
  actions: { list, resume },
  help: `  list     the endpoints that were disabled at that time or later and still are: since when, why, and what waits for them
  resume   says which it would resume; with --apply it resumes them, one by one, and says each

  --disabled-since TIME   as 2026-01-31T12:00:00Z
  --reason                failures: Herald disabled it; paused: an admin did
  --organization ID       only this organization's
  --json                  prints one object a line

A resume is what an admin's is: the count of failures starts over, what waits goes out, and events of the last days that the
endpoint missed are delivered. Its version changes, so an admin who edits it at the same time gets a conflict. Endpoints that change
between the reading and the resume are left alone: run it again. What waits is counted to ${COUNTED_AT_MOST.toLocaleString("en")}.
`,
};

/** Prints what is selected. Returns how many that are. */
async function show(context: RunContext, selection: Selection, asJson: boolean): Promise<number> {
  let found = 0;
  const rows: string[][] = [];
  await withDatabase(context, async (queries) => {
    for await (const endpoint of disabledEndpoints(queries, selection)) {
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

interface Selection {
  disabledSince: Date;
  /** Null for any reason, and for all organizations. */
  reason: (typeof REASONS)[number] | null;
  organizationId: string | null;
}

function selectionOf(values: Partial<Record<keyof typeof options, unknown>>): Selection {
  const { reason, organization = null, ...others } = values as Partial<Record<keyof typeof options, string>>;
  return {
    disabledSince: timeOf("--disabled-since", others["disabled-since"]),
    reason: oneOf("--reason", REASONS, reason) ?? null,
    organizationId: organization,
  };
}

interface DisabledEndpoint {
  id: string;
  organizationId: string;
  name: string;
  url: string;
  events: string[];
  revision: bigint;
  disabledReason: string;
  disabledAt: Date;
  /** Deliveries that wait for it; counted to {@link COUNTED_AT_MOST}. */
  waiting: number;
}

function shown({ events: _events, revision: _revision, ...endpoint }: DisabledEndpoint): object {
  return endpoint;
}

function rowOf({ id, organizationId, name, url, disabledReason, disabledAt, waiting }: DisabledEndpoint): string[] {
  const counted = waiting >= COUNTED_AT_MOST ? `${waiting}+` : String(waiting);
  return [id, organizationId, disabledReason, disabledAt.toISOString(), counted, name, url].map(oneLine);
}

/**
 * The disabled endpoints of a selection, by id, read in pages. An endpoint that is resumed meanwhile is left out.
 *
 * Locks nothing. Walks webhook_endpoint_pkey, however few are disabled, since only an operator asks; and
 * due_pkey for each endpoint of the page.
 */
async function* disabledEndpoints(
  queries: Queries,
  { disabledSince, reason, organizationId }: Selection,
): AsyncGenerator<DisabledEndpoint> {
  for (let after: string | undefined = "00000000-0000-0000-0000-000000000000"; after !== undefined; ) {
    const page: DisabledEndpoint[] = await queries.$queryRaw<DisabledEndpoint[]>`
      select endpoint.id, organization_id as "organizationId", name, url, events, revision,
             disabled_reason::text as "disabledReason", disabled_at as "disabledAt", waiting.count as waiting
      from webhook_endpoint as endpoint
      cross join lateral (
        select count(*)::int from (
          select from due where shard = shard_of(endpoint.id) and endpoint_id = endpoint.id limit ${COUNTED_AT_MOST}::int
        ) as counted
      ) as waiting
      where endpoint.id > ${after}::uuid
        and not enabled
        and disabled_at >= ${disabledSince}::timestamptz
        and (${reason}::text is null or disabled_reason::text = ${reason})
        and (${organizationId}::text is null or organization_id = ${organizationId})
      order by endpoint.id
      limit ${PAGE_SIZE}::int`;
    yield* page;
    after = page.length < PAGE_SIZE ? undefined : page.at(-1)?.id;
  }
}
