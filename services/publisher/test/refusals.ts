import type { PrismaClient } from "@herald/common/database/generated/client";

/**
 * Makes PostgreSQL refuse statements that make deliveries, with the error of a statement that is too slow or waits for a lock too long.
 * So a test does not depend on how slow that really is.
 *
 * @param condition in SQL, over the rows that the statement has made: `made`
 * @returns ends the refusals; ending them again does nothing
 */
export async function refuseDeliveries(
  prisma: PrismaClient,
  condition: string,
  sqlState: string,
): Promise<() => Promise<void>> {
  await prisma.$executeRawUnsafe(`
    create function refuse_deliveries() returns trigger language plpgsql as $$
    begin
      if ${condition} then raise exception 'refused by a test' using errcode = '${sqlState}'; end if;
      return null;
    end
    $$`);
  await prisma.$executeRawUnsafe(`
    create trigger refuse_deliveries after insert on delivery
    referencing new table as made for each statement execute function refuse_deliveries()`);
  return async () => {
    await prisma.$executeRawUnsafe("drop trigger if exists refuse_deliveries on delivery");
    await prisma.$executeRawUnsafe("drop function if exists refuse_deliveries");
  };
}
