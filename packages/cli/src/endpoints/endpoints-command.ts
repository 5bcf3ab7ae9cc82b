import { parseArgs } from "node:util";
import { serviceSettings } from "@herald/common/config/common-settings";
import { readConfig } from "@herald/common/config/read-config";
import { OPERATOR } from "@herald/common/database/endpoint-change";
import type { Queries } from "@herald/common/database/queries";
import { catchUpAgainAt, updateEndpoint } from "@herald/common/database/update-endpoint";
import type { Clock } from "@herald/common/runtime/clock";
import { type Command, type RunContext, UsageError } from "../command.ts";
import { withDatabase } from "../database.ts";
import { oneLine, table } from "../output.ts";
import {
  COUNTED_AT_MOST,
  type DisabledEndpoint,
  disabledEndpoints,
  REASONS,
  type Reason,
  type Selection,
} from "./disabled-endpoints.ts";

const { DATABASE_TIMEOUT_SECONDS } = serviceSettings;

export const endpointsCommand: Command = {
  summary: "lists disabled endpoints, and resumes many at once",
  help: `herald endpoints: lists disabled endpoints, and resumes many at once, as after an incident that disabled them

  herald endpoints list   --disabled-since TIME [--reason failures|paused] [--organization ID] [--json]
  herald endpoints resume --disabled-since TIME --reason failures|paused [--organization ID] [--apply] [--json]

  list     the endpoints that were disabled at that time or later and still are: since when, why, and what waits for them
  resume   says which it would resume; with --apply it resumes them, one by one, and says each

  --disabled-since TIME   as 2026-01-31T12:00:00Z
  --reason                failures: Herald disabled it; paused: an admin did
  --organization ID       only this organization's
  --json                  prints one object a line

A resume is what an admin's is: the count of failures starts over, what waits goes out, and events of the last days that the
endpoint missed are delivered. Its version changes, so an admin who edits it at the same time is told. Endpoints that change
between the reading and the resume are left alone: run it again. What waits is counted to ${COUNTED_AT_MOST.toLocaleString("en")}.
`,
  async run([action, ...args], context) {
    if (action === "list") return await list(args, context);
    if (action === "resume") return await resume(args, context);
    throw new UsageError("It takes one of list, resume.");
  },
};

const options = {
  "disabled-since": { type: "string" },
  reason: { type: "string" },
  organization: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

async function list(args: string[], context: RunContext): Promise<void> {
  const { values } = parseArgs({ args, options });
  const found = await show(context, selectionOf(values), values.json);
  context.stderr(`${count(found)} disabled.\n`);
}

async function resume(args: string[], context: RunContext): Promise<void> {
  const { values } = parseArgs({ args, options: { ...options, apply: { type: "boolean", default: false } } });
  const selection = selectionOf(values);
  if (selection.reason === null) throw new UsageError(`--reason takes one of ${REASONS.join(", ")}.`);
  const { stdout, stderr } = context;
  if (!values.apply) {
    const found = await show(context, selection, values.json);
    stderr(`${count(found)} would be resumed; --apply does it.\n`);
    return;
  }
  const totals = { resumed: 0, overtaken: 0 };
  await onDatabase(context, async (queries, { clock, statementTimeoutMs }) => {
    for await (const endpoint of disabledEndpoints(queries, selection)) {
      const isResumed = await resumeEndpoint(queries, endpoint, { now: clock.now(), statementTimeoutMs });
      totals[isResumed ? "resumed" : "overtaken"]++;
      if (values.json) stdout(`${JSON.stringify({ ...shown(endpoint), resumed: isResumed })}\n`);
      else stdout(`${isResumed ? "resumed" : "left, since it changed meanwhile:"} ${rowOf(endpoint).join("  ")}\n`);
    }
  });
  stderr(`${count(totals.resumed)} resumed.\n`);
  if (totals.overtaken > 0) throw new Error(`${count(totals.overtaken)} changed meanwhile; run it again for the rest.`);
}

/** The same statement as an admin's edit that changes nothing but the flag. Returns false where the endpoint has changed. */
async function resumeEndpoint(
  queries: Queries,
  { id, organizationId, revision, name, url, events }: DisabledEndpoint,
  { now, statementTimeoutMs }: { now: Date; statementTimeoutMs: number },
): Promise<boolean> {
  const row = await updateEndpoint(queries, {
    id,
    organizationId,
    revision,
    name,
    url,
    events,
    enabled: true,
    sealedSecret: null,
    author: OPERATOR,
    now,
    catchUpAgainAt: catchUpAgainAt(now, { statementTimeoutMs }),
  });
  return row !== null;
}

/** Prints what is selected. Returns how many that are. */
async function show(context: RunContext, selection: Selection, asJson: boolean): Promise<number> {
  let found = 0;
  const rows: string[][] = [];
  await onDatabase(context, async (queries) => {
    for await (const endpoint of disabledEndpoints(queries, selection)) {
      found++;
      context.progress(`${count(found)} found`);
      if (asJson) context.stdout(`${JSON.stringify(shown(endpoint))}\n`);
      else rows.push(rowOf(endpoint));
    }
  });
  if (rows.length > 0) {
    context.stdout(table(["ENDPOINT", "ORGANIZATION", "REASON", "DISABLED", "WAITING", "NAME", "URL"], rows));
  }
  return found;
}

function onDatabase(
  context: RunContext,
  task: (queries: Queries, times: { clock: Clock; statementTimeoutMs: number }) => Promise<void>,
): Promise<void> {
  const config = readConfig({ DATABASE_TIMEOUT_SECONDS }, context.environment);
  return withDatabase(context, (prisma, clock) =>
    task(prisma, { clock, statementTimeoutMs: config.DATABASE_TIMEOUT_SECONDS * 1_000 }),
  );
}

function selectionOf(values: {
  "disabled-since"?: string | undefined;
  reason?: string | undefined;
  organization?: string | undefined;
}): Selection {
  const { reason = null, organization = null } = values;
  if (reason !== null && !isReason(reason)) throw new UsageError(`--reason takes one of ${REASONS.join(", ")}.`);
  return { disabledSince: timeOf(values["disabled-since"]), reason, organizationId: organization };
}

function isReason(text: string): text is Reason {
  return REASONS.some((reason) => reason === text);
}

/** With a time zone: an operator's and a server's are seldom the same. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

function timeOf(text: string | undefined): Date {
  const time = new Date(text ?? Number.NaN);
  if (text === undefined || !TIME.test(text) || Number.isNaN(time.getTime())) {
    throw new UsageError("--disabled-since takes a time like 2026-01-31T12:00:00Z.");
  }
  return time;
}

function shown({ events: _events, revision: _revision, ...endpoint }: DisabledEndpoint): object {
  return endpoint;
}

function rowOf({ id, organizationId, name, url, disabledReason, disabledAt, waiting }: DisabledEndpoint): string[] {
  const counted = waiting >= COUNTED_AT_MOST ? `${waiting}+` : String(waiting);
  return [id, organizationId, disabledReason, disabledAt.toISOString(), counted, name, url].map(oneLine);
}

function count(endpoints: number): string {
  return `${endpoints} ${endpoints === 1 ? "endpoint" : "endpoints"}`;
}
