import { fastifyWebhook } from "@herald/receiver/fastify";
import Fastify from "fastify";
import { store } from "./store.mjs";

const app = Fastify();
// A plugin of its own: the parsers of other routes stay as they are.
app.register(fastifyWebhook, { path: "/webhooks", secret: process.env.WEBHOOK_SECRET, receive: store });

await app.listen({ port: Number(process.env.PORT ?? 8080), host: "127.0.0.1" });
