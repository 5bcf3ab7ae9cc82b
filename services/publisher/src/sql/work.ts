import { Prisma } from "@herald/common/database/generated/client";
import type { Queries } from "@herald/common/database/queries";

/** Work of one endpoint that this process does now. */
export interface Work {
  endpointId: string;
  /** Marks the work as taken by this process: every later statement changes it only if this time still stands. */
  leasedUntil: Date;
}

/** Work is taken now, and no other process takes it until the other time. */
export type Lease = { now: Date; leasedUntil: Date };

export interface WorkPage {
  /** False if another process has taken the work over, or the work was requested again. */
  held: boolean;
  /** True if the turn ends with this page: nothing is left to do now, or each page is a turn of its own (resends). */
  ended: boolean;
  deliveryCount: number;
}

/** The limits of one page: its rows, and the time until which the lease is renewed if the work continues. */
export type PageBounds = { pageSize: number; now: Date; renewedUntil: Date };

/** Lets another process continue the work, after all work that waits already. Locks its row. Walks catch_up_pkey or erasure_pkey. */
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
