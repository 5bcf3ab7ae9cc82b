// app/webhooks/route.js
import { fetchWebhook } from "@herald/receiver/fetch";
import { store } from "./store.mjs";

export const POST = fetchWebhook({ secret: process.env.WEBHOOK_SECRET, receive: store });
