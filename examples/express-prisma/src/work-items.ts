import { eventFor, newEvent } from "@herald/emitter";
import { createOutbox } from "@herald/emitter/outbox";
import express, { type Router } from "express";
import type { PrismaClient } from "./generated/client.ts";

const outbox = createOutbox();

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The product's own API: it knows nothing of webhooks. */
export function workItems(prisma: PrismaClient, organizationId: string, changed: () => void): Router {
  const router = express.Router();

  // PostgreSQL refuses to look for any other text in a column of UUIDs.
  router.param("id", (_request, response, next, id: string) => {
    if (!UUID.test(id))
      return void response.status(404).json({ error: "There is no such work item: its id is a UUID." });
    next();
  });

  router.post("/work-items", async (request, response) => {
    const { title } = (request.body ?? {}) as { title?: unknown };
    if (typeof title !== "string") return void response.status(400).json({ error: "A work item has a title." });
    response.status(201).json(await prisma.workItem.create({ data: { title } }));
  });

  router.post("/work-items/:id/complete", async (request, response) => {
    const completed = await complete(prisma, organizationId, request.params.id);
    if (!completed) return void response.status(409).json({ error: "It is done already, or there is none." });
    changed();
    response.json({ status: "Done" });
  });

  router.get("/work-items/:id/invoices", async (request, response) => {
    response.json(await prisma.invoice.findMany({ where: { workItemId: request.params.id } }));
  });

  return router;
}

/** Changes the status and writes the event down, both or neither. Returns whether this call completed the work item. */
async function complete(prisma: PrismaClient, organizationId: string, id: string): Promise<boolean> {
  return await prisma.$transaction(async (tx) => {
    const before = await tx.workItem.findUnique({ where: { id } });
    if (before === null) return false;
    const type = eventFor({ entity: "WorkItem", change: "status", from: before.status, to: "Done" });
    if (type === null) return false;
    // Of two requests at once, one finds the status that both have read.
    const { count } = await tx.workItem.updateMany({
      where: { id: before.id, status: before.status },
      data: { status: "Done" },
    });
    if (count === 0) return false;
    const changes = { Status: { oldValue: before.status, newValue: "Done" } };
    const event = newEvent({ organizationId, type, entityType: "WorkItem", entityId: before.id, data: { changes } });
    await outbox.add(tx, event);
    return true;
  });
}
