import { randomUUID } from "node:crypto";
import type { Prisma, PrismaClient } from "@herald/common/database/generated/client";
import { deliveryId, eventKey, firstIdAt } from "@herald/common/database/ids";
import { shardOf } from "@herald/common/database/shards";

/** The time of the rows, unless said otherwise. */
export const ROW_TIME = new Date("2026-03-01T12:00:00.000Z");

type EndpointRow = Awaited<ReturnType<PrismaClient["webhookEndpoint"]["create"]>>;
type DeliveryRow = Awaited<ReturnType<PrismaClient["delivery"]["create"]>>;
type EventRow = Awaited<ReturnType<PrismaClient["businessEvent"]["create"]>>;
type ResendRow = Awaited<ReturnType<PrismaClient["resend"]["create"]>>;

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
      createdAt: ROW_TIME,
      updatedAt: ROW_TIME,
      ...row,
    },
  });
}

/** A new id of a time, as a manual delivery has one. */
export function idAt(time: Date): string {
  return `${firstIdAt(time).slice(0, 14)}7${randomUUID().slice(15)}`;
}

/** The end of an attempt with an answer: a 204, or a 500. */
export const answered = (succeeded: boolean) => ({
  statusCode: succeeded ? 204 : 500,
  succeeded,
  errorSummary: succeeded ? null : "receiver answered 500",
  failureKind: succeeded ? null : ("http_status" as const),
  responseExcerpt: null,
  traceparent: null,
  retryAfterMs: null,
  manual: false,
});

/** The row in `due` of an unfinished delivery. Without values it is due when it was made, and not attempted yet. */
export interface DueRow {
  dueAt?: Date;
  attempts?: number;
  interruptions?: number;
}

/**
 * Stores a delivery of an endpoint with a body of its own, made at {@link ROW_TIME}: pending and due then, unless said
 * otherwise. An unfinished one has its row in `due`.
 */
export async function insertDelivery(
  prisma: PrismaClient,
  endpoint: Pick<EndpointRow, "id" | "organizationId">,
  { due = {}, ...row }: Partial<Prisma.DeliveryUncheckedCreateInput> & { due?: DueRow } = {},
): Promise<DeliveryRow> {
  const createdAt = row.createdAt === undefined ? ROW_TIME : new Date(row.createdAt);
  const dueAt = due.dueAt ?? createdAt;
  const delivery = await prisma.delivery.create({
    data: {
      id: row.eventKey ? deliveryId(row.eventKey, endpoint.id) : idAt(createdAt),
      endpointId: endpoint.id,
      organizationId: endpoint.organizationId,
      eventType: "WorkItemCompleted",
      body: row.eventKey ? null : "{}",
      nextAttemptAt: dueAt.getTime() === createdAt.getTime() ? null : dueAt,
      createdAt,
      ...row,
    },
  });
  if (delivery.state === "pending") {
    await prisma.due.create({
      data: {
        deliveryId: delivery.id,
        endpointId: endpoint.id,
        shard: shardOf(endpoint.id),
        attempts: delivery.attemptCount,
        ...due,
        dueAt,
      },
    });
  }
  return delivery;
}

/** Stores a business event: a WorkItemCompleted that occurred and arrived at {@link ROW_TIME}, unless said otherwise. */
export function insertEvent(
  prisma: PrismaClient,
  organizationId: string,
  row: Partial<Omit<Prisma.BusinessEventUncheckedCreateInput, "key" | "occurredAt">> & { occurredAt?: Date } = {},
): Promise<EventRow> {
  const id = row.id ?? randomUUID();
  const occurredAt = row.occurredAt ?? ROW_TIME;
  return prisma.businessEvent.create({
    data: {
      organizationId,
      type: "WorkItemCompleted",
      entityId: randomUUID(),
      occurredAt,
      receivedAt: occurredAt,
      body: JSON.stringify({ id }),
      ...row,
      id,
      key: eventKey(organizationId, id, occurredAt),
    },
  });
}

/** Stores a resend of an endpoint, started at {@link ROW_TIME} for all that was given up before, and due then unless it has ended. */
export function insertResend(
  prisma: PrismaClient,
  endpoint: Pick<EndpointRow, "id" | "organizationId">,
  row: Partial<Prisma.ResendUncheckedCreateInput> = {},
): Promise<ResendRow> {
  const startedAt = row.startedAt === undefined ? ROW_TIME : new Date(row.startedAt);
  return prisma.resend.create({
    data: {
      id: idAt(startedAt),
      endpointId: endpoint.id,
      organizationId: endpoint.organizationId,
      startedAt,
      beginId: firstIdAt(new Date(0)),
      endId: firstIdAt(startedAt),
      total: 1,
      bytes: 2,
      dueAt: row.state === undefined || row.state === "running" ? startedAt : null,
      ...row,
    },
  });
}

/** Makes a dispatcher, by the id of its process, the owner of all shards; null takes them from every dispatcher. */
export async function ownShards(prisma: PrismaClient, owner: string | null): Promise<void> {
  await prisma.shard.updateMany({ data: { owner, onArrivalFrom: new Date(0) } });
}
