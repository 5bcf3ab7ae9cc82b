import { noticeId } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";
import type { RejectedGroup } from "../rejections.ts";

/** Leaves notices of events that were rejected, to be published from `publishAt` on. Locks nothing that is there. */
export async function insertRejections(
  queries: Queries,
  groups: readonly RejectedGroup[],
  { now, publishAt }: { now: Date; publishAt: Date },
): Promise<void> {
  const details = groups.map(({ organizationId: _, ...rest }) => JSON.stringify(rest));
  await queries.$executeRaw`
    insert into notice (id, type, organization_id, failure_run, details, occurred_at, publish_at)
    select id, 'event.rejected', organization_id, '{}', details, ${now}::timestamptz, ${publishAt}::timestamptz
    from unnest(
      ${groups.map(() => noticeId(now))}::uuid[],
      ${groups.map(({ organizationId }) => organizationId)}::text[],
      ${details}::jsonb[]
    ) as rejected (id, organization_id, details)`;
}
