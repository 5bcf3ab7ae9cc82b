import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createEmitter } from "@herald/emitter";
import { startRelay } from "@herald/emitter/outbox";
import express from "express";
import { billing } from "./billing.ts";
import { openDatabase } from "./database.ts";
import { workItems } from "./work-items.ts";

function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`Set ${name}: README.md says what it means.`);
  return value;
}

const { prisma, pool, close } = await openDatabase(setting("DATABASE_URL"));
const warn = (error: Error) => console.warn(error.message);
const emitter = createEmitter({
  url: setting("AMQP_URL"),
  namespace: process.env.BROKER_NAMESPACE ?? "herald",
  onFailure: warn,
});
const relay = startRelay({ pool, emitter, onFailure: warn });

const app = express();
app.use(express.json());
app.use(workItems(prisma, setting("ORGANIZATION_ID"), relay.wake));
const product = createHttpServer(app).listen(Number(setting("PORT")), "127.0.0.1");

// Herald sends to https:// only.
const tls = { cert: readFileSync(setting("TLS_CERT_FILE")), key: readFileSync(setting("TLS_KEY_FILE")) };
const receiver = createHttpsServer(tls, billing(pool, setting("WEBHOOK_SECRET")));
receiver.listen(Number(setting("WEBHOOK_PORT")), "127.0.0.1");

await Promise.all([once(product, "listening"), once(receiver, "listening")]);
console.log("Ready.");

await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
for (const server of [product, receiver]) {
  server.close();
  server.closeIdleConnections();
}
await relay.close();
await emitter.close();
await close();
