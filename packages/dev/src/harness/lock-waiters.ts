import type { PrismaClient } from "@herald/common/database/generated/client";

/** How many statements of this test's database wait for a lock. */
export async function lockWaiters(prisma: PrismaClient): Promise<number> {
  const [row] = await prisma.$queryRaw<{ count: number }[]>`
    select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return row?.count ?? 0;
}
