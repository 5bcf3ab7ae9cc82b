import type { Queries, Reads } from "@herald/common/database/queries";
import { type Databases, inBucket, isReleased, MOVED, MOVING, organizationsOf, readMove } from "./bucket-rows.ts";
import { type CopyOptions, copyRows, countRows } from "./copy-rows.ts";
import { type Beginning, hold, release } from "./hold.ts";
import { pagedTables } from "./tables.ts";

export interface MoveOptions extends Pick<CopyOptions, "pageSize"> {
  /** Is asked when the taking database begins, which may be hours after the start. */
  beginning: () => Beginning;
  /** Looks, before the hold and before the release, whether anybody still takes events of the bucket; throws where one does. */
  assertUnserved: () => Promise<void>;
  /** Is told what the move is at. Where it throws, the move ends there. */
  onProgress: (text: string) => void;
}

export interface Moved {
  organizations: number;
  endpoints: number;
  /** Whether an earlier move had come to its end already, and nothing was copied. */
  wasOver: boolean;
}

/**
 * Moves a bucket from one database to another. It may be cut off at any line and run again: until the release, the giving database is
 * the truth, and holds everything; from the release on, the taking one is, and nothing is copied over it. Call `checkMove` before.
 *
 * @throws where the copy lacks something; both databases hold everything then
 */
export async function moveBucket(
  { from, to }: Databases<Queries>,
  bucket: string,
  { assertUnserved, onProgress, pageSize, beginning }: MoveOptions,
): Promise<Moved> {
  if (isReleased(await readMove({ from, to }, bucket))) {
    const endpoints = await markMoved(from, bucket);
    return { organizations: 0, endpoints, wasOver: true };
  }
  await assertUnserved();
  onProgress("holds the endpoints");
  await hold(from, bucket, onProgress);
  const organizations = await organizationsOf(from, bucket);
  for (const [index, organizationId] of organizations.entries()) {
    const place = `organization ${index + 1} of ${organizations.length}`;
    let rows = 0;
    const onPage: CopyOptions["onPage"] = (table, count) => {
      rows += count;
      onProgress(`${place}: ${rows} rows copied, now of ${table}`);
    };
    await copyOrganization(organizationId, { from, to, pageSize, onPage });
  }
  for (const [index, organizationId] of organizations.entries()) {
    onProgress(`counts organization ${index + 1} of ${organizations.length}`);
    await assertComplete({ from, to }, organizationId);
  }
  await assertUnserved();
  const { giving } = await readMove({ from, to }, bucket);
  if (giving.moving < giving.endpoints) {
    throw new Error(
      `${giving.endpoints - giving.moving} endpoints of bucket ${bucket} came into the giving database since the move began: one of its cell's management ` +
        "APIs still serves the bucket. Restart it without the bucket in INBOX_BUCKETS, and run the move again.",
    );
  }
  onProgress("releases the endpoints");
  await release(to, bucket, beginning());
  onProgress("released the endpoints");
  return { organizations: organizations.length, endpoints: await markMoved(from, bucket), wasOver: false };
}

/** Locks those endpoints, in the order of their ids. Reads all endpoints. */
async function markMoved(queries: Queries, bucket: string): Promise<number> {
  return await queries.$executeRaw`
    with locked as materialized (
      select id from webhook_endpoint
      where ${inBucket("organization_id", bucket)} and paused_until in (${MOVING}::timestamptz, ${MOVED}::timestamptz)
      order by id
      for no key update
    )
    update webhook_endpoint set paused_until = ${MOVED}::timestamptz where id in (select id from locked)`;
}

async function copyOrganization(organizationId: string, options: CopyOptions): Promise<void> {
  for (const table of pagedTables("organization")) await copyRows(table, organizationId, options);
  for (const endpointId of await endpointsOf(options.from, organizationId)) {
    for (const table of pagedTables("endpoint")) await copyRows(table, endpointId, options);
  }
}

/** @throws where the copy has fewer rows than there are */
async function assertComplete({ from, to }: Databases, organizationId: string): Promise<void> {
  const owners = [
    ...pagedTables("organization").map((table) => [table, organizationId] as const),
    ...(await endpointsOf(from, organizationId)).flatMap((id) =>
      pagedTables("endpoint").map((table) => [table, id] as const),
    ),
  ];
  for (const [table, owner] of owners) {
    const [had, has] = [await countRows(from, table, owner), await countRows(to, table, owner)];
    if (had.every((count, index) => count <= (has[index] ?? 0))) continue;
    throw new Error(
      `The taking database has ${has.join(", ")} rows of ${table} of ${owner}, and the giving one has ${had.join(", ")}. ` +
        "Nothing was released: run the move again.",
    );
  }
}

/** By id. Locks nothing. Walks webhook_endpoint_organization_id_id_idx. */
async function endpointsOf(reads: Reads, organizationId: string): Promise<string[]> {
  const rows = await reads.$queryRaw<{ id: string }[]>`
    select id from webhook_endpoint where organization_id = ${organizationId} order by id`;
  return rows.map(({ id }) => id);
}
