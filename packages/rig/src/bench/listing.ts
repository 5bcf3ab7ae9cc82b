import { migrate, openDatabase, type PrismaClient } from "@herald/common/database";
import { type ApiClient, apiClient } from "../herald/api-client.ts";
import type { BenchPlace } from "./place.ts";

export interface ListingFigures {
  endpoints: number;
  /** What one organization has stored, in each of the two databases. */
  fewDeliveries: number;
  manyDeliveries: number;
  /** `GET /webhooks`, from the request to the end of its answer: medians. */
  fewMilliseconds: number;
  manyMilliseconds: number;
  ratio: number;
}

const ENDPOINTS = 100;
const FEW = 10_000;
/** One statement's rows: small enough to show progress. */
const STEP = 100_000;
const WARM_UP = 50;

/**
 * Measures the listing of an organization with 100 endpoints that has stored few deliveries, and of one that has stored many.
 * Each has a database and a management API of its own, and requests go to both by turns, so that whatever else the machine
 * does hits both alike.
 */
export async function measureListing(
  place: BenchPlace,
  { deliveries, requests, progress }: { deliveries: number; requests: number; progress: (text: string) => void },
): Promise<ListingFigures> {
  const few = await prepare(place, "herald_listing_few", FEW, progress);
  const many = await prepare(place, "herald_listing_many", deliveries, progress);
  progress("Listing");
  const times = { few: [] as number[], many: [] as number[] };
  for (let request = -WARM_UP; request < requests; request++) {
    for (const [which, client] of [
      ["few", few],
      ["many", many],
    ] as const) {
      const startedAt = performance.now();
      const listed = await client.list();
      const milliseconds = performance.now() - startedAt;
      const shown = listed.reduce((count, endpoint) => count + endpoint.deliveries.length, 0);
      if (shown !== 200) throw new Error(`The listing shows ${shown} deliveries instead of 200.`);
      if (request >= 0) times[which].push(milliseconds);
    }
  }
  const [fewMilliseconds, manyMilliseconds] = [median(times.few), median(times.many)];
  return {
    endpoints: ENDPOINTS,
    fewDeliveries: FEW,
    manyDeliveries: deliveries,
    fewMilliseconds,
    manyMilliseconds,
    ratio: manyMilliseconds / fewMilliseconds,
  };
}

/** A database with one organization in it, and a management API on it. */
async function prepare(
  place: BenchPlace,
  name: string,
  deliveries: number,
  progress: (text: string) => void,
): Promise<ApiClient> {
  const server = openDatabase(place.databaseUrl);
  await server.prisma.$executeRawUnsafe(`create database ${name}`);
  await server.close();
  const databaseUrl = new URL(place.databaseUrl);
  databaseUrl.pathname = `/${name}`;
  await migrate(databaseUrl.href);

  const api = await place.start("management-api", { DATABASE_URL: databaseUrl.href });
  const client = await apiClient(`http://127.0.0.1:${api.port}`);
  for (let endpoint = 0; endpoint < ENDPOINTS; endpoint++) {
    await client.create({ name: `Endpoint ${endpoint}`, url: `https://hooks.example.com/${endpoint}` });
  }
  const database = openDatabase(databaseUrl.href, { statementTimeoutMs: 600_000 });
  try {
    await storeDeliveries(database.prisma, client.organizationId, deliveries, progress);
  } finally {
    await database.close();
  }
  return client;
}

/** Finished deliveries with one attempt each, spread over the organization's endpoints as they would come. */
async function storeDeliveries(
  prisma: PrismaClient,
  organizationId: string,
  count: number,
  progress: (text: string) => void,
): Promise<void> {
  for (let stored = 0; stored < count; stored += STEP) {
    progress(`Storing deliveries: ${stored.toLocaleString("en")} of ${count.toLocaleString("en")}`);
    await prisma.$executeRaw`
      with endpoint as (
        select array_agg(id) as ids from webhook_endpoint where organization_id = ${organizationId}
      )
      insert into delivery (endpoint_id, organization_id, business_event_id, event_type, state, attempt_count,
                            status_code, attempted_at, created_at)
      select ids[1 + number % ${ENDPOINTS}], ${organizationId}, gen_random_uuid(), 'WorkItemCompleted', 'succeeded', 1, 200,
             now(), now()
      from endpoint, generate_series(1, ${Math.min(STEP, count - stored)}::int) as number`;
  }
  await prisma.$executeRaw`vacuum analyze delivery`;
}

function median(times: number[]): number {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
