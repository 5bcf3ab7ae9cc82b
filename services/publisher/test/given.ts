import { randomUUID } from "node:crypto";
import type { PrismaClient } from "@herald/common/database/generated/client";
import { eventKey } from "@herald/common/database/ids";
import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import type { Log } from "@herald/common/telemetry/log";
import { Registry } from "@herald/common/telemetry/metrics";
import { ROW_TIME } from "@herald/dev/harness/rows";
import type { Basics } from "../src/basics.ts";
import { createMetrics } from "../src/metrics.ts";
import type { IncomingEvent } from "../src/sql/rows.ts";

/** A minute after the rows of the tests were made. */
export const NOW = new Date(ROW_TIME.getTime() + 60_000);

/** An event of an organization as it was read from the broker: a WorkItemCompleted of {@link NOW}, unless said otherwise. */
export function incomingEvent(
  organizationId: string,
  override: Partial<Omit<IncomingEvent, "key">> = {},
): IncomingEvent {
  const id = override.id ?? randomUUID();
  const occurredAt = override.occurredAt ?? NOW;
  return {
    organizationId,
    type: "WorkItemCompleted",
    entityId: randomUUID(),
    body: JSON.stringify({ id }),
    traceparent: null,
    receivedAt: NOW,
    ...override,
    id,
    occurredAt,
    key: eventKey(organizationId, id, occurredAt),
  };
}

/** Steps around a statement, with its values. The statement's caller gets what a step throws. */
interface Steps {
  before?: (values: readonly unknown[]) => unknown;
  after?: (values: readonly unknown[]) => unknown;
}

/** The same queries, with a step before or after each statement whose text contains `part`. */
export function queriesAround(queries: Queries, part: string, { before, after }: Steps): Queries {
  return {
    $executeRaw: (...call) => queries.$executeRaw(...call),
    async $queryRaw<T>(strings: TemplateStringsArray, ...values: unknown[]) {
      const isMeant = strings.join("").includes(part);
      if (isMeant) await before?.(values);
      const rows = await queries.$queryRaw<T>(strings, ...values);
      if (isMeant) await after?.(values);
      return rows;
    },
  };
}

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

export const SILENT: Log = { isDebug: false, debug() {}, info() {}, warn() {}, error() {} };

/** The parts of a task, with a silent log. */
export function taskParts(queries: Queries, clock: Clock, registry = new Registry()): Basics {
  return { queries, clock, metrics: createMetrics(registry), log: SILENT };
}
