import type { Prisma, PrismaClient } from "@herald/common/database/generated/client";
import { type DueRow, idAt, insertDelivery, insertEvent } from "@herald/dev/harness/rows";

type Row = Partial<Prisma.DeliveryUncheckedCreateInput> & { due?: DueRow };

/** Ids are in the order of time, so each delivery is a millisecond later than the one before. */
let sequence = 0;

/**
 * Fields that `row` lacks are those of a pending automatic delivery, made now, of an event that occurred now. One with a `body` is
 * a manual delivery.
 */
export async function storeDelivery(
  prisma: PrismaClient,
  endpoint: { id: string; organizationId: string },
  row: Row = {},
): Promise<string> {
  const time = ((row.createdAt as Date | undefined) ?? new Date()).getTime();
  const createdAt = new Date(time + ++sequence);
  const event = row.body ? null : await insertEvent(prisma, endpoint.organizationId, { occurredAt: createdAt });
  return (await insertDelivery(prisma, endpoint, { ...row, eventKey: event?.key ?? null, createdAt })).id;
}

/** Stores many deliveries at once: manual ones that succeeded now. */
export async function storeMany(
  prisma: PrismaClient,
  { id, organizationId }: { id: string; organizationId: string },
  count: number,
): Promise<void> {
  await prisma.$executeRaw`
    insert into delivery (id, endpoint_id, organization_id, event_type, body, state, created_at)
    select overlay(gen_random_uuid()::text placing left(${idAt(new Date(Date.now() + ++sequence))}, 14) from 1 for 14)::uuid,
           ${id}::uuid, ${organizationId}, 'RiskCreated', '{}', 'succeeded', now()
    from generate_series(1, ${count}::int)`;
}

/** Stores the first attempt of a delivery that was attempted again: it failed some seconds before `now`. */
export async function storeFirstAttempt(prisma: PrismaClient, deliveryId: string, now: Date): Promise<void> {
  await prisma.deliveryAttempt.create({
    data: {
      deliveryId,
      number: 1,
      startedAt: new Date(now.getTime() - 9_000),
      durationMs: 41,
      statusCode: 500,
      errorSummary: "the receiver answered 500",
      failureKind: "http_status",
      responseExcerpt: "sorry",
    },
  });
}

export const ATTEMPTED_AT = new Date("2026-03-01T12:00:00.123Z");

/** Rows of deliveries in each state, as the dispatcher leaves them. */
export const states = {
  waiting: { state: "pending", attemptCount: 0 },
  failing: {
    state: "pending",
    attemptCount: 2,
    statusCode: 503,
    errorSummary: "timed out after 15 s",
    failureKind: "timed_out",
    attemptedAt: ATTEMPTED_AT,
    durationMs: 15_000,
  },
  succeeded: { state: "succeeded", attemptCount: 1, statusCode: 204, attemptedAt: ATTEMPTED_AT, durationMs: 38 },
  exhausted: {
    state: "exhausted",
    attemptCount: 5,
    statusCode: 410,
    errorSummary: "the receiver answered 410",
    failureKind: "http_status",
    attemptedAt: ATTEMPTED_AT,
    durationMs: 12,
  },
  expired: { state: "expired", attemptCount: 1, statusCode: 502, attemptedAt: ATTEMPTED_AT, durationMs: 12 },
} as const satisfies Record<string, Row>;
