import { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";

/** Work of one endpoint that this process does now. */
export interface Work {
  endpointId: string;
  /** Marks the work as taken by this process: every later statement changes it only where this still stands. */
  leasedUntil: Date;
}

export interface WorkPage {
  /** False where another process has taken the work over, or somebody asked for it anew. */
  held: boolean;
  /** The page was not full, so the work is over. */
  ended: boolean;
  deliveryCount: number;
}

/** What one page may do: so many rows, and a lease from now on, if the work goes on. */
export interface PageBounds {
  pageSize: number;
  now: Date;
  renewedUntil: Date;
}

/** Lets others go on with work, behind those that wait already. Locks its row. Walks catch_up_pkey or erasure_pkey. */
export async function giveBack(
  queries: Queries,
  table: "catch_up" | "erasure",
  { endpointId, leasedUntil }: Work,
  now: Date,
): Promise<void> {
  await queries.$executeRaw`
    update ${Prisma.raw(table)} set due_at = ${now}::timestamptz
    where endpoint_id = ${endpointId}::uuid and due_at = ${leasedUntil}::timestamptz`;
}
