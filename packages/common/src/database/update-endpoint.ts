import type { WebhookEndpointSummary } from "@herald/contracts";
import { Prisma } from "./generated/client.ts";
import { changeId, noticeId } from "./ids.ts";
import type { Queries } from "./queries.ts";
import { type Author, authorDetails, nameOf, settingsOf } from "./trail.ts";

export type EndpointRow = Omit<WebhookEndpointSummary, "version" | "deliveries"> & { revision: bigint };

export interface EndpointUpdate {
  id: string;
  organizationId: string;
  /** The revision that the client has read. The row is changed only if it is still in this revision. */
  revision: bigint;
  name: string;
  url: string;
  enabled: boolean;
  events: string[];
  /** The new sealed secret; null keeps the one that is stored. */
  sealedSecret: string | null;
  /** All own headers from now on, with sealed values; null instead of one keeps the stored value of that name. If absent, all are kept. */
  headers?: Record<string, string | null> | undefined;
  author: Author;
  now: Date;
  /** When a catch-up that the edit asks for is made once more. */
  catchUpAgainAt: Date;
}

/**
 * When the publisher catches up a new, resumed or newly subscribed endpoint for the second time: half a minute after the end of the longest
 * statement. A fan-out that began before the edit knows nothing of it, and may store its events after the first catch-up has passed them.
 */
export function catchUpAgainAt(now: Date, config: { DATABASE_TIMEOUT_SECONDS: number }): Date {
  return new Date(now.getTime() + config.DATABASE_TIMEOUT_SECONDS * 1_000 + 30_000);
}

/** When publishers look for the last time for deliveries of a deleted endpoint: a statement that has seen it may add some, for at most ten minutes (DATABASE_TIMEOUT_SECONDS). */
export const lastLookAt = (now: Date): Date => new Date(now.getTime() + 15 * 60_000);

/**
 * Changes an endpoint, for an admin's edit or an operator's command, and decides in the same statement what follows from how it was before (SPEC 3.1):
 *
 * - resumed: the run of failures ends, and a catch-up is requested
 * - subscribed to more events: a catch-up is requested
 * - paused: the reason, the time and who did it are stored; an endpoint that Herald disabled keeps its own. What waits is left as it is
 * - resumed, or given another secret: a notice for the product is stored
 * - changed in any way: the trail has what was before and after, and which own headers got a value. An edit that changes nothing leaves no trace, unless its request has an idempotency key
 *
 * Returns null if the organization has no such endpoint in that revision.
 *
 * Locks the endpoint, and its row of `catch_up` where one is requested. Walks webhook_endpoint_pkey twice, and catch_up_pkey. Of
 * two edits of one revision the second waits for the first, and then finds another revision. Every edit makes a new
 * revision, also an edit that changes nothing.
 */
export async function updateEndpoint(queries: Queries, update: EndpointUpdate): Promise<EndpointRow | null> {
  const { id, organizationId, revision, name, url, enabled, events, sealedSecret, headers, author, now } = update;
  const { catchUpAgainAt } = update;
  // `before` is read without a lock, and may be older than the row that is changed. Flag and events are the same in both,
  // since the revision is, and the revision grows with every change of theirs.
  const resumed = Prisma.sql`(${enabled} and not before.enabled)`;
  const ofPause = (column: string, paused: Prisma.Sql) =>
    Prisma.sql`case when ${enabled} then null when before.enabled then ${paused} else endpoint.${Prisma.raw(column)} end`;
  // A kept secret is not named at all: the management API's user may write secrets, and not read them.
  const replacedSecret =
    sealedSecret === null ? Prisma.empty : Prisma.sql`sealed_secret = ${sealedSecret}, quarantined_at = null,`;
  const replacedHeaders = headers
    ? Prisma.sql`headers = (
        select jsonb_object_agg(key, coalesce(value, before.headers ->> key)) from jsonb_each_text(${JSON.stringify(headers)}::jsonb)
      ),`
    : Prisma.empty;
  const headerValues = Object.keys(headers ?? {}).filter((header) => headers?.[header] !== null);
  const given = JSON.stringify(headerValues.length > 0 ? { headerValues: headerValues.sort() } : {});
  const [row] = await queries.$queryRaw<EndpointRow[]>`
    with edited as (
      update webhook_endpoint as endpoint
      set name = ${name},
          url = ${url},
          enabled = ${enabled},
          events = ${events}::text[],
          ${replacedSecret}
          ${replacedHeaders}
          revision = endpoint.revision + 1,
          consecutive_failures = case when ${resumed} then 0 else endpoint.consecutive_failures end,
          failure_run = case when ${resumed} then '{}' else endpoint.failure_run end,
          failed_at = case when not ${resumed} then endpoint.failed_at end,
          paused_until = case when not ${resumed} then endpoint.paused_until end,
          failing_told = endpoint.failing_told and not ${resumed},
          disabled_reason = ${ofPause("disabled_reason", Prisma.sql`'paused'`)},
          disabled_at = ${ofPause("disabled_at", Prisma.sql`${now}::timestamptz`)},
          disabled_by = ${ofPause("disabled_by", Prisma.sql`${nameOf(author)}`)},
          updated_at = ${now}::timestamptz
      from webhook_endpoint as before
      where before.id = endpoint.id
        and before.revision = endpoint.revision
        and endpoint.id = ${id}::uuid
        and endpoint.organization_id = ${organizationId}
        and endpoint.revision = ${revision}
      returning endpoint.id, endpoint.organization_id, endpoint.name, endpoint.url, endpoint.enabled, endpoint.consecutive_failures,
        endpoint.events, endpoint.revision, ${resumed} as is_resumed,
        ${resumed} or (${enabled} and not before.events @> ${events}::text[]) as misses_events,
        ${settingsOf("before")} as settings_before, ${settingsOf("endpoint")} || ${given}::jsonb as settings_after
    ), told as (
      insert into catch_up (endpoint_id, priority, due_at, again_at)
      select id, 0, ${now}::timestamptz, ${catchUpAgainAt}::timestamptz from edited where misses_events
      on conflict (endpoint_id) do update
      set priority = 0, due_at = excluded.due_at, cursor = null, again_at = excluded.again_at, complete_to = null
    ), recorded as (
      insert into endpoint_change (
        id, organization_id, endpoint_id, endpoint_name, revision, changed_at, changed_by, subject, name, request, before, after, secret_replaced
      )
      select ${changeId(now, revision + 1n)}::uuid, organization_id, id, name, revision, ${now}::timestamptz, ${author.changedBy}::changed_by, ${author.subject}, ${author.name}, ${author.request}::bytea,
        settings_before, settings_after, ${sealedSecret}::text is not null
      from edited
      where settings_before <> settings_after or ${sealedSecret}::text is not null or ${author.request}::bytea is not null
    ), noticed as (
      insert into notice
        (id, type, organization_id, endpoint_id, endpoint_name, endpoint_url, failure_run, details, occurred_at, publish_at)
      select said.id, said.type::notice_type, edited.organization_id, edited.id, edited.name, edited.url, '{}',
        ${authorDetails(author)}::jsonb, ${now}::timestamptz, ${now}::timestamptz
      from edited
      cross join lateral (
        select ${noticeId(now)}::uuid as id, 'endpoint.resumed' as type where edited.is_resumed
        union all
        select ${noticeId(now)}::uuid, 'endpoint.secret_replaced' where ${sealedSecret}::text is not null
      ) as said
    )
    select id, name, url, enabled, consecutive_failures as "consecutiveFailures", events, revision from edited`;
  return row ?? null;
}
