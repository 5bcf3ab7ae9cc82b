import { randomUUID } from "node:crypto";
import type { Prisma, PrismaClient } from "@herald/common/database/generated/client";
import { insertDelivery, insertEvent } from "@herald/testkit/harness/rows";
import { v7 } from "uuid";

type DeliveryRow = Prisma.DeliveryUncheckedCreateInput;

/** Ids as the services make them, in the order of their making. */
let sequence = 0;
export const newDeliveryId = (time = new Date()): string => v7({ msecs: time.getTime(), seq: ++sequence });

/** What `row` doesn't say is that of a pending automatic delivery, made now. */
export async function storeDelivery(
  prisma: PrismaClient,
  { id: endpointId, organizationId }: { id: string; organizationId: string },
  row: Partial<DeliveryRow> = {},
): Promise<string> {
  const event = await insertEvent(prisma, organizationId, { id: randomUUID() });
  const createdAt = (row.createdAt as Date | undefined) ?? new Date();
  const { id } = await insertDelivery(
    prisma,
    { id: endpointId, organizationId },
    {
      id: newDeliveryId(createdAt),
      businessEventId: event.id,
      body: null,
      createdAt,
      nextAttemptAt: createdAt,
      ...row,
    },
  );
  return id;
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
  },
  parked: {
    state: "parked",
    attemptCount: 1,
    statusCode: 500,
    errorSummary: "the receiver answered 500",
    failureKind: "http_status",
    attemptedAt: ATTEMPTED_AT,
  },
  succeeded: { state: "succeeded", attemptCount: 1, statusCode: 204, attemptedAt: ATTEMPTED_AT, nextAttemptAt: null },
  exhausted: {
    state: "exhausted",
    attemptCount: 5,
    statusCode: 410,
    errorSummary: "the receiver answered 410",
    failureKind: "http_status",
    attemptedAt: ATTEMPTED_AT,
    nextAttemptAt: null,
  },
} as const satisfies Record<string, Partial<DeliveryRow>>;
