import { deduplicator, postgresStore, readEvent } from "@herald/receiver";
import { expressWebhook } from "@herald/receiver/express";
import express, { type Express } from "express";
import type pg from "pg";

/** Another product, which gets completed work items by a webhook, and writes an invoice for each. */
export function billing(pool: pg.Pool, secret: string): Express {
  const acceptOnce = deduplicator(postgresStore({ pool }));
  const app = express();
  app.post(
    "/webhooks",
    expressWebhook({
      secret,
      receive: async ({ eventId, payload }) => {
        const event = readEvent(payload);
        if (eventId === null || event?.type !== "WorkItemCompleted") return;
        // A webhook that comes twice finds that it was accepted: its invoice and that fact commit together.
        const write = "insert into invoice (event_id, work_item_id) values ($1, $2)";
        await acceptOnce("billing", eventId, (client) => client.query(write, [eventId, event.entityId]));
      },
    }),
  );
  return app;
}
