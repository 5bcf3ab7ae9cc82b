import { changeId, noticeId } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";
import { type Author, authorDetails, settingsOf } from "@herald/common/database/trail";
import { lastLookAt } from "@herald/common/database/update-endpoint";
import type { EndpointKey } from "./endpoint-details.ts";

/**
 * Deletes an endpoint that is still in the revision which the client has read, ends its catch-up, requests the erasure of its history, and stores a notice and a change with the author. Its
 * deliveries are out of reach from then on, since every read begins with the endpoint. Returns whether the organization had it in that
 * revision.
 *
 * Locks the endpoint and its row of `catch_up`. Walks webhook_endpoint_pkey and catch_up_pkey, and no delivery: it takes the
 * same time however long the history is.
 */
export async function deleteEndpointRow(
  queries: Queries,
  { id, organizationId }: EndpointKey,
  { revision, author, now, until = lastLookAt(now) }: { revision: bigint; author: Author; now: Date; until?: Date },
): Promise<boolean> {
  const count = await queries.$executeRaw`
    with deleted as (
      delete from webhook_endpoint as endpoint
      where id = ${id}::uuid and organization_id = ${organizationId} and revision = ${revision}
      returning id, organization_id, name, url, revision + 1 as revision, ${settingsOf("endpoint")} as settings
    ), recorded as (
      insert into endpoint_change (
        id, organization_id, endpoint_id, endpoint_name, revision, changed_at, changed_by, subject, name, request, before
      )
      select ${changeId(now, revision + 1n)}::uuid, organization_id, id, name, revision, ${now}::timestamptz,
        ${author.changedBy}::changed_by, ${author.subject}, ${author.name}, ${author.request}::bytea, settings
      from deleted
    ), ended as (
      delete from catch_up using deleted where endpoint_id = deleted.id
    ), noticed as (
      insert into notice
        (id, type, organization_id, endpoint_id, endpoint_name, endpoint_url, failure_run, details, occurred_at, publish_at)
      select ${noticeId(now)}::uuid, 'endpoint.deleted', organization_id, id, name, url, '{}', ${authorDetails(author)}::jsonb,
        ${now}::timestamptz, ${now}::timestamptz
      from deleted
    )
    insert into erasure (endpoint_id, due_at, until)
    select id, ${now}::timestamptz, ${until}::timestamptz from deleted`;
  return count > 0;
}
