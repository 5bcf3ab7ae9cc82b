import { Prisma } from "@herald/common/database/generated/client";
import { oneRow, type Queries } from "@herald/common/database/queries";
import { shrinkingPages } from "@herald/common/database/shrinking";
import { lastLookAt } from "@herald/common/database/update-endpoint";
import type { Clock } from "@herald/common/runtime/clock";
import { eraseEndpointPage } from "@herald/publisher/sql/erase-endpoint";
import { action, type Command, onlyWord, positiveInteger } from "./command.ts";
import { withDatabase } from "./connections.ts";
import { counted, table } from "./output.ts";

const COUNTED_AT_MOST = 100_000;

const erase = action({
  changes: (values) => values.apply,
  usage: "ID [--apply] [--page-size 1000]",
  options: { apply: { type: "boolean", default: false }, "page-size": { type: "string", default: "1000" } },
  words: true,
  async run(values, context, words) {
    const organizationId = onlyWord(words, "the id of one organization");
    const pageSize = positiveInteger("--page-size", values["page-size"]);
    return await withDatabase(context, async (queries, clock) => {
      if (!values.apply) {
        const found = Object.entries(await countRows(queries, organizationId));
        const rows = found.map(([name, count]) => [name, counted(count, COUNTED_AT_MOST)]);
        context.stdout(table(["TABLE", "ROWS"], rows));
        context.stderr("These would be erased; --apply does it.\n");
        return {};
      }
      const erased = await eraseOrganization(queries, clock, { organizationId, pageSize }, (soFar) => {
        const parts = Object.entries(soFar).map(([name, rows]) => `${rows} of ${name}`);
        context.progress(parts.join(", "));
      });
      const rows = Object.entries(erased).map(([name, count]) => [name, String(count)]);
      context.stdout(table(["TABLE", "ERASED"], rows));
      return erased;
    });
  },
});

export const organizationsCommand: Command = {
  summary: "erases everything of an organization that leaves",
  actions: { erase },
  help: `  erase   counts what the database holds of an organization, up to ${COUNTED_AT_MOST.toLocaleString("en")} rows of a table; with --apply it erases that: endpoints with their
          secrets, deliveries, events, and the trail of changes. No notice is sent

  --page-size N   rows that one statement erases

First have the product emit no more events of it. Then run this, and again a few minutes later: it finds what was under way. It may be interrupted and
run again. It can't be taken back. Rejected events stay in RabbitMQ: herald rejected list and discard.
`,
};

/** The tables whose rows name their organization, without those that belong to an endpoint; and a column by which rows are distinguished. */
const TABLES = {
  business_event: "key",
  undelivered_event: "event_id",
  idempotency_key: "key",
  resend: "id",
  notice: "id",
  exhaustion: "id",
  // Last: it names the endpoints that an interrupted run has deleted.
  endpoint_change: "id",
} as const;

type Erased = Record<"webhook_endpoint" | "delivery" | keyof typeof TABLES, number>;

/** Reads webhook_endpoint and endpoint_change by their indexes of the organization, and delivery by its index of the endpoint. */
async function countRows(queries: Queries, organizationId: string): Promise<Erased> {
  const endpointIds = await endpointsOf(queries, organizationId);
  const ofOrganization = Prisma.sql`organization_id = ${organizationId}`;
  const conditions = Object.entries({
    webhook_endpoint: ofOrganization,
    delivery: Prisma.sql`endpoint_id = any (${endpointIds}::uuid[])`,
    ...Object.fromEntries(Object.keys(TABLES).map((name) => [name, ofOrganization])),
  });
  const counts = conditions.map(async ([name, condition]) => {
    const { count } = oneRow(
      await queries.$queryRaw<{ count: number }[]>`
        select count(*)::int from (select from ${Prisma.raw(name)} where ${condition} limit ${COUNTED_AT_MOST}) as counted`,
    );
    return [name, count] as const;
  });
  return Object.fromEntries(await Promise.all(counts)) as Erased;
}

/** The organization's endpoints, those that were deleted included: their deletion is in the trail for as long as their deliveries are kept. */
async function endpointsOf(queries: Queries, organizationId: string): Promise<string[]> {
  const rows = await queries.$queryRaw<{ id: string }[]>`
    select id from webhook_endpoint where organization_id = ${organizationId}
    union
    select endpoint_id from endpoint_change where organization_id = ${organizationId}`;
  return rows.map(({ id }) => id);
}

/** Erases an organization in pages. A run that was interrupted is finished by the next one, or for its endpoints by publishers. */
export async function eraseOrganization(
  queries: Queries,
  clock: Clock,
  { organizationId, pageSize }: { organizationId: string; pageSize: number },
  onPage: (soFar: Partial<Erased>) => void = () => undefined,
): Promise<Partial<Erased>> {
  const erased: Partial<Erased> = {};
  const inPages = shrinkingPages({ max: pageSize });

  /** Repeats a statement until it erases nothing. */
  async function all(
    name: keyof Erased,
    page: (size: number) => Promise<{ rows: number; ended: boolean }>,
  ): Promise<void> {
    for (let ended = false; !ended; ) {
      const done = await inPages(page);
      ({ ended } = done);
      erased[name] = (erased[name] ?? 0) + done.rows;
      onPage(erased);
    }
  }

  const endpointIds = await endpointsOf(queries, organizationId);
  await all("webhook_endpoint", async (size) => {
    const rows = await deleteEndpoints(queries, organizationId, { size, until: lastLookAt(clock.now()) });
    return { rows, ended: rows === 0 };
  });
  for (const endpointId of endpointIds) {
    await all("delivery", async (size) => {
      const now = clock.now();
      const times = { pageSize: size, now, renewedUntil: now };
      const page = await eraseEndpointPage(queries, { endpointId, leasedUntil: now }, times);
      return { rows: page.deliveryCount, ended: page.ended };
    });
  }
  await queries.$executeRaw`delete from digest where endpoint_id = any (${endpointIds}::uuid[])`;
  for (const name of Object.keys(TABLES) as (keyof typeof TABLES)[]) {
    await all(name, async (size) => {
      const rows = await eraseRows(queries, organizationId, { name, size });
      return { rows, ended: rows === 0 };
    });
  }
  return erased;
}

/**
 * Deletes endpoints, and leaves publishers the last look at their deliveries: a fan-out in flight may add some until then. Returns how many.
 *
 * Locks them and their rows of `catch_up`. Walks webhook_endpoint_organization_id_id_idx, the primary key and catch_up_pkey.
 */
async function deleteEndpoints(
  queries: Queries,
  organizationId: string,
  { size, until }: { size: number; until: Date },
): Promise<number> {
  return await queries.$executeRaw`
    with deleted as (
      delete from webhook_endpoint
      where id = any (array (select id from webhook_endpoint where organization_id = ${organizationId} order by id limit ${size}))
      returning id
    ), ended as (
      delete from catch_up using deleted where endpoint_id = deleted.id
    )
    insert into erasure (endpoint_id, due_at, until) select id, ${until}::timestamptz, ${until}::timestamptz from deleted`;
}

/** Erases a page of a table. Locks it. Walks the index that begins with the organization, or the whole of notice, exhaustion and resend. */
async function eraseRows(
  queries: Queries,
  organizationId: string,
  { name, size }: { name: keyof typeof TABLES; size: number },
): Promise<number> {
  const [from, column] = [Prisma.raw(name), Prisma.raw(TABLES[name])];
  return await queries.$executeRaw`
    delete from ${from}
    where organization_id = ${organizationId} and ${column} = any (array (
      select ${column} from ${from} where organization_id = ${organizationId} order by ${column} limit ${size}
    ))`;
}
