import type { PrismaClient } from "@herald/common/database/generated/client";

/** The statistics that PostgreSQL plans by: taken when no delivery was pending, or taken now. */
export type Statistics = "from a quiet time" | "of a backlog";

const ENDPOINTS = 200;
const FINISHED = 60_000;
const PENDING = 5_000;

export interface StoredHistory {
  organizationId: string;
  /** Of that organization: ten of the 200. */
  endpointIds: string[];
  /** Of the backlog, some of those. */
  deliveryIds: string[];
}

/**
 * Stores a history large enough for its indexes to matter: 60,000 finished deliveries with their events and attempts,
 * 5,000 that are pending, 200 endpoints of 20 organizations; and lets PostgreSQL analyze it, so that it plans as in
 * production. Replaces what was stored before.
 */
export async function storeHistory(prisma: PrismaClient, statistics: Statistics): Promise<StoredHistory> {
  await prisma.$executeRaw`truncate webhook_endpoint, business_event, delivery, delivery_attempt`;
  // Without this, PostgreSQL analyzes the table at a time of its own.
  await prisma.$executeRaw`alter table delivery set (autovacuum_enabled = false)`;
  await prisma.$executeRaw`
    insert into webhook_endpoint
      (organization_id, name, url, enabled, events, sealed_secret, catch_up_at, created_at, updated_at)
    select 'organization-' || number % 20, 'Endpoint', 'https://hooks.example.com/', true, '{WorkItemCompleted}', 'sealed',
      now() + interval '1 day', now() - interval '31 days', now()
    from generate_series(1, ${ENDPOINTS}::int) as number`;
  await store(prisma, "succeeded", FINISHED);
  if (statistics === "from a quiet time") await analyze(prisma);
  await store(prisma, "pending", PENDING);
  if (statistics === "of a backlog") await analyze(prisma);
  const organizationId = "organization-7";
  const endpoints = await prisma.webhookEndpoint.findMany({ where: { organizationId }, select: { id: true } });
  const deliveries = await prisma.delivery.findMany({ where: { state: "pending" }, select: { id: true }, take: 250 });
  return {
    organizationId,
    endpointIds: endpoints.map(({ id }) => id),
    deliveryIds: deliveries.map(({ id }) => id),
  };
}

async function store(prisma: PrismaClient, state: "succeeded" | "pending", count: number): Promise<void> {
  await prisma.$executeRaw`
    with event as (
      insert into business_event (organization_id, id, type, occurred_at, received_at, body)
      select 'organization-' || number % 20, gen_random_uuid(), 'WorkItemCompleted', at, at, '{}'
      from generate_series(1, ${count}::int) as number,
        lateral (select now() - number * interval '30 seconds' as at) as time
      returning organization_id, id, occurred_at
    ), stored as (
      insert into delivery (endpoint_id, organization_id, business_event_id, event_type, state, attempt_count,
        status_code, next_attempt_at, attempted_at, created_at)
      select distinct on (event.id) endpoint.id, event.organization_id, event.id, 'WorkItemCompleted', ${state}::delivery_state,
        (${state} = 'succeeded')::int, case when ${state} = 'succeeded' then 200 end,
        case when ${state} = 'pending' then now() end, case when ${state} = 'succeeded' then event.occurred_at end,
        event.occurred_at
      from event
      join webhook_endpoint as endpoint on endpoint.organization_id = event.organization_id
      order by event.id, random()
      returning id, state, created_at
    )
    insert into delivery_attempt (delivery_id, number, started_at, duration_ms, status_code)
    select id, 1, created_at, 5, 200 from stored where state = 'succeeded'`;
}

async function analyze(prisma: PrismaClient): Promise<void> {
  for (const table of ["delivery", "delivery_attempt", "business_event", "webhook_endpoint"]) {
    await prisma.$executeRawUnsafe(`vacuum analyze ${table}`);
  }
}
