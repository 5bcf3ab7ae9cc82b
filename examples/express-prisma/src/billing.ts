import { readEvent } from "@herald/receiver";
import { expressWebhook } from "@herald/receiver/express";
import express, { type Express } from "express";
import type pg from "pg";

/** Another product, which gets completed work items by a webhook, and writes an invoice for each. */
export function billing(pool: pg.Pool, secret: string): Express {
  const app = express();
  app.post(
    "/webhooks",
    expressWebhook({
      secret,
      receive: async ({ eventId, payload }) => {
        const event = readEvent(payload);
        if (eventId === null || event?.type !== "WorkItemCompleted") return;
        // The event's id is the invoice's key: an event that comes twice has one invoice.
        const write = "insert into invoice (event_id, work_item_id) values ($1, $2) on conflict do nothing";
        await pool.query(write, [eventId, event.entityId]);
      },
    }),
  );
  return app;
}
