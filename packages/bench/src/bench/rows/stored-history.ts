import type { PrismaClient } from "@herald/common/database/generated/client";

export interface StoredHistory {
  organizationId: string;
  /** Of the organization; the first of them is subscribed to RiskCreated too. */
  endpoints: number;
  /** Of other organizations, a hundred each. */
  otherEndpoints: number;
  deliveries: number;
  progress: (text: string) => void;
}

/** One statement's rows: small enough to show progress. */
const STEP = 100_000;

/**
 * Stores finished deliveries of one organization, each with its event and one attempt, spread over its endpoints and the last
 * thirty days as they would come.
 */
export async function storeFinished(
  prisma: PrismaClient,
  { organizationId, endpoints, otherEndpoints, deliveries, progress }: StoredHistory,
): Promise<void> {
  await prisma.$executeRaw`
    insert into webhook_endpoint
      (organization_id, name, url, enabled, events, sealed_secret, catch_up_at, created_at, updated_at)
    select
      case when number <= ${endpoints}::int then ${organizationId} else 'other-' || number / 100 end,
      'Endpoint ' || number, 'https://hooks.example.com/' || number, true,
      case when number = 1 then '{WorkItemCompleted,RiskCreated}' else '{WorkItemCompleted}' end::text[],
      'sealed', now() + interval '1 day', now() - interval '31 days', now()
    from generate_series(1, ${endpoints + otherEndpoints}::int) as number`;
  for (let stored = 0; stored < deliveries; stored += STEP) {
    progress(`Storing finished deliveries: ${stored.toLocaleString("en")} of ${deliveries.toLocaleString("en")}`);
    await prisma.$executeRaw`
      with endpoint as (
        select array_agg(id order by id) as ids from webhook_endpoint where organization_id = ${organizationId}
      ), event as (
        insert into business_event (organization_id, id, type, occurred_at, received_at, body)
        select ${organizationId}, gen_random_uuid(), 'WorkItemCompleted', occurred_at, occurred_at, repeat('x', 300)
        from generate_series(1, ${Math.min(STEP, deliveries - stored)}::int) as number
        cross join lateral (
          select now() - interval '30 days'
            * (1 - (${stored}::float8 + number) / ${deliveries}::float8) as occurred_at
        ) as time
        returning id, occurred_at
      ), finished as (
        insert into delivery (endpoint_id, organization_id, business_event_id, event_type, state, attempt_count,
                              status_code, attempted_at, created_at)
        select ids[1 + floor(random() * ${endpoints}::int)::int], ${organizationId}, event.id, 'WorkItemCompleted', 'succeeded',
               1, 200, event.occurred_at, event.occurred_at
        from event, endpoint
        returning id, attempted_at
      )
      insert into delivery_attempt (delivery_id, number, started_at, duration_ms, status_code)
      select id, 1, attempted_at, 12, 200 from finished`;
  }
  await prisma.$executeRaw`vacuum analyze delivery`;
  await prisma.$executeRaw`vacuum analyze delivery_attempt`;
  await prisma.$executeRaw`vacuum analyze business_event`;
  await prisma.$executeRaw`vacuum analyze webhook_endpoint`;
}
