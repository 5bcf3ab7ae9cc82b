import type { PrismaClient } from "@herald/common/database/generated/client";

/** The statistics that PostgreSQL plans by: taken when no delivery was pending, or taken now. */
export type Statistics = "from a quiet time" | "of a backlog";

const ENDPOINTS = 200;
const ORGANIZATIONS = 20;
const FINISHED = 60_000;
const PENDING = 5_000;

export interface StoredHistory {
  organizationId: string;
  /** That organization's endpoints: ten of the 200. */
  endpointIds: string[];
  /** Some deliveries of the backlog. */
  deliveryIds: string[];
}

/**
 * Stores a history large enough for its indexes to matter: 60,000 finished deliveries with their events and attempts,
 * 5,000 that are pending, 200 endpoints of 20 organizations with a month of rates; and lets PostgreSQL analyze it, so that it plans as in
 * production. Replaces what was stored before.
 */
export async function storeHistory(prisma: PrismaClient, statistics: Statistics): Promise<StoredHistory> {
  await prisma.$executeRaw`truncate webhook_endpoint, business_event, delivery, delivery_attempt, due, endpoint_hour`;
  // Without this, PostgreSQL analyzes the table at a time of its own.
  const partitions = await prisma.$queryRaw<{ name: string }[]>`
    select inhrelid::regclass::text as name from pg_inherits
    where inhparent in ('delivery'::regclass, 'business_event'::regclass)`;
  for (const { name } of [...partitions, { name: "due" }, { name: "endpoint_hour" }]) {
    await prisma.$executeRawUnsafe(`alter table ${name} set (autovacuum_enabled = false)`);
  }
  await prisma.$executeRaw`
    insert into webhook_endpoint
      (id, organization_id, name, url, enabled, events, sealed_secret, created_at, updated_at)
    select gen_random_uuid(), 'organization-' || number % ${ORGANIZATIONS}::int, 'Endpoint', 'https://hooks.example.com/', true, '{WorkItemCompleted}', 'sealed', now() - interval '31 days', now()
    from generate_series(1, ${ENDPOINTS}::int) as number`;
  await prisma.$executeRaw`
    insert into endpoint_hour (endpoint_id, hour, succeeded, failed, durations)
    select id, date_trunc('hour', now()) - number * interval '4 hours', 1, 0, '{1,0,0,0,0,0,0,0}'
    from webhook_endpoint, generate_series(0, 185) as number`;
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
    with endpoint as (
      select id, organization_id, row_number() over (partition by organization_id) as place from webhook_endpoint
    ), made as materialized (
      select organization_id, event_key(organization_id, id, at) as key, id, at,
        1 + floor(random() * ${ENDPOINTS / ORGANIZATIONS}::int) as place
      from (
        select 'organization-' || number % ${ORGANIZATIONS}::int as organization_id, gen_random_uuid() as id,
          date_trunc('milliseconds', now()) - number * interval '30 seconds' as at
        from generate_series(1, ${count}::int) as number
      ) as event
    ), event as (
      insert into business_event (organization_id, key, id, type, entity_id, occurred_at, received_at, body)
      select organization_id, key, id, 'WorkItemCompleted', gen_random_uuid(), at, at, '{}' from made
    ), stored as (
      insert into delivery (id, endpoint_id, organization_id, event_key, event_type, state, attempt_count, attempted_at,
        duration_ms, status_code, created_at)
      select delivery_id(made.key, endpoint.id), endpoint.id, made.organization_id, made.key, 'WorkItemCompleted',
        ${state}::delivery_state, 2 * done::int, case when done then at end, case when done then 5 end,
        case when done then 200 end, at
      from made
      join endpoint on endpoint.organization_id = made.organization_id and endpoint.place = made.place
      cross join (select ${state} = 'succeeded' as done) as kind
      returning id, endpoint_id, created_at
    ), earlier as (
      insert into delivery_attempt (delivery_id, number, started_at, duration_ms, status_code)
      select id, 1, created_at, 5, 500 from stored where ${state} = 'succeeded'
    )
    insert into due (shard, endpoint_id, due_at, delivery_id)
    select shard_of(endpoint_id), endpoint_id, created_at, id from stored where ${state} = 'pending'`;
}

async function analyze(prisma: PrismaClient): Promise<void> {
  for (const table of ["delivery", "delivery_attempt", "business_event", "due", "webhook_endpoint", "endpoint_hour"]) {
    await prisma.$executeRawUnsafe(`vacuum analyze ${table}`);
  }
}
