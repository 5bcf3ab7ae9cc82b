import { fetchWebhook } from "@herald/receiver/fetch";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { store } from "./store.mjs";

const app = new Hono();
const webhook = fetchWebhook({ secret: process.env.WEBHOOK_SECRET, receive: store });
app.post("/webhooks", (context) => webhook(context.req.raw));

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 8080), hostname: "127.0.0.1" });
