import type { Queries } from "@herald/common/database/queries";

export interface DisabledEndpoint {
  id: string;
  organizationId: string;
  name: string;
  url: string;
  events: string[];
  revision: bigint;
  disabledReason: Reason;
  disabledAt: Date;
  /** Deliveries that wait for it; counted to {@link COUNTED_AT_MOST}. */
  waiting: number;
}

export const REASONS = ["failures", "paused"] as const;
export type Reason = (typeof REASONS)[number];

export interface Selection {
  disabledSince: Date;
  /** Null for any reason, and for all organizations. */
  reason: Reason | null;
  organizationId: string | null;
}

export const COUNTED_AT_MOST = 1_000;
const PAGE_SIZE = 100;

/** The disabled endpoints of a selection, by id, read in pages. An endpoint that is resumed meanwhile is left out. */
export async function* disabledEndpoints(queries: Queries, selection: Selection): AsyncGenerator<DisabledEndpoint> {
  let after = "00000000-0000-0000-0000-000000000000";
  for (;;) {
    const page = await readPage(queries, { ...selection, after });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_SIZE) return;
    after = last.id;
  }
}

/**
 * Locks nothing. Walks webhook_endpoint_pkey, however few are disabled, since nobody but an operator asks; and
 * due_endpoint_id_due_at_idx for each endpoint of the page.
 */
async function readPage(
  queries: Queries,
  { disabledSince, reason, organizationId, after }: Selection & { after: string },
): Promise<DisabledEndpoint[]> {
  return await queries.$queryRaw<DisabledEndpoint[]>`
    select endpoint.id, organization_id as "organizationId", name, url, events, revision,
           disabled_reason::text as "disabledReason", disabled_at as "disabledAt", waiting.count as waiting
    from webhook_endpoint as endpoint
    cross join lateral (
      select count(*)::int from (
        select from due where endpoint_id = endpoint.id limit ${COUNTED_AT_MOST}::int
      ) as counted
    ) as waiting
    where endpoint.id > ${after}::uuid
      and not enabled
      and disabled_at >= ${disabledSince}::timestamptz
      and (${reason}::text is null or disabled_reason::text = ${reason})
      and (${organizationId}::text is null or organization_id = ${organizationId})
    order by endpoint.id
    limit ${PAGE_SIZE}::int`;
}
