import { expressWebhook } from "@herald/receiver/express";
import express from "express";
import { store } from "./store.mjs";

const app = express();
// Before express.json(): the signature is over the exact bytes.
app.post("/webhooks", expressWebhook({ secret: process.env.WEBHOOK_SECRET, receive: store }));
app.use(express.json());

app.listen(Number(process.env.PORT ?? 8080), "127.0.0.1");
