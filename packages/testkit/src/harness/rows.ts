import { randomUUID } from "node:crypto";
import type { Prisma, PrismaClient } from "@herald/common/database/generated/client";

/** The time of the rows, unless said otherwise. */
export const ROW_TIME = new Date("2026-03-01T12:00:00.000Z");

type EndpointRow = Awaited<ReturnType<PrismaClient["webhookEndpoint"]["create"]>>;
type DeliveryRow = Awaited<ReturnType<PrismaClient["delivery"]["create"]>>;
type EventRow = Awaited<ReturnType<PrismaClient["businessEvent"]["create"]>>;

/** Stores an endpoint: enabled, subscribed to WorkItemCompleted, of an organization of its own, unless said otherwise. */
export function insertEndpoint(
  prisma: PrismaClient,
  row: Partial<Prisma.WebhookEndpointUncheckedCreateInput> = {},
): Promise<EndpointRow> {
  return prisma.webhookEndpoint.create({
    data: {
      id: randomUUID(),
      organizationId: randomUUID(),
      name: "Test receiver",
      url: "https://receiver.test/hooks",
      enabled: true,
      events: ["WorkItemCompleted"],
      sealedSecret: "sealed",
      catchUpAt: new Date(ROW_TIME.getTime() + 24 * 60 * 60_000),
      createdAt: ROW_TIME,
      updatedAt: ROW_TIME,
      ...row,
    },
  });
}

/** Stores a delivery of an endpoint with a body of its own: pending and due, unless said otherwise. */
export function insertDelivery(
  prisma: PrismaClient,
  endpoint: Pick<EndpointRow, "id" | "organizationId">,
  row: Partial<Prisma.DeliveryUncheckedCreateInput> = {},
): Promise<DeliveryRow> {
  return prisma.delivery.create({
    data: {
      id: randomUUID(),
      endpointId: endpoint.id,
      organizationId: endpoint.organizationId,
      eventType: "WorkItemCompleted",
      body: "{}",
      nextAttemptAt: ROW_TIME,
      createdAt: ROW_TIME,
      ...row,
    },
  });
}

/** Stores a business event: a WorkItemCompleted that occurred and arrived at {@link ROW_TIME}, unless said otherwise. */
export function insertEvent(
  prisma: PrismaClient,
  organizationId: string,
  row: Partial<Prisma.BusinessEventUncheckedCreateInput> = {},
): Promise<EventRow> {
  const id = row.id ?? randomUUID();
  return prisma.businessEvent.create({
    data: {
      organizationId,
      type: "WorkItemCompleted",
      occurredAt: ROW_TIME,
      receivedAt: row.occurredAt ?? ROW_TIME,
      body: JSON.stringify({ id }),
      ...row,
      id,
    },
  });
}
