import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "@herald/dev/stack/folders";

/** The blocks of ```ts of a package's README, in their order, its imports apart from the rest. */
function blocksOf(name: string): { imports: string; code: string }[] {
  const readme = readFileSync(join(projectFolder(), "packages", name, "README.md"), "utf8");
  return [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => {
    const lines = block.split("\n");
    const isImport = (line: string) => line.startsWith("import ");
    return {
      imports: lines.filter(isImport).join("\n"),
      code: lines.filter((line) => !isImport(line)).join("\n"),
    };
  });
}

function block(name: string, containing: string): { imports: string; code: string } {
  const found = blocksOf(name).find(({ imports, code }) => `${imports}\n${code}`.includes(containing));
  if (found === undefined) throw new Error(`The README of ${name} has no example with ${containing}.`);
  return found;
}

const emit = block("emitter", "createEmitter(");
const outbox = block("emitter", "createOutbox(");

/** Runs the README's examples, and prints what came to the exchange. What the README takes for granted is made here. */
export const EMITTER_EXAMPLE = `
${emit.imports}
${outbox.imports}
import { randomUUID } from "node:crypto";
import { connect } from "amqplib";
import pg from "pg";

const broker = await connect(process.env.AMQP_URL ?? "");
const channel = await broker.createChannel();
await channel.assertExchange("herald.events", "topic", { durable: true });
const { queue } = await channel.assertQueue("", { exclusive: true });
await channel.bindQueue(queue, "herald.events", "#");
const seen: unknown[] = [];
const both = new Promise<void>((resolve) => {
  void channel.consume(queue, (message) => {
    if (message !== null) seen.push(JSON.parse(message.content.toString()));
    if (seen.length === 2) resolve();
  }, { noAck: true });
});

const organizationId = "organization-1";
const workItem = { id: randomUUID() };
${emit.code}
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
await pool.query("create table work_item (id uuid, status text)");
const client = await pool.connect();
const id = workItem.id;
const event = newEvent({ organizationId, type: "WorkItemCompleted", entityType: "WorkItem", entityId: id, data: {} });
${outbox.code}
client.release();
await both;
console.log(JSON.stringify(seen));
await relay.close();
await emitter.close();
await pool.end();
await broker.close();
`;

const receive = block("receiver", "await saveToInbox");
const core = block("receiver", "verdict");
const once = block("receiver", "deduplicator(");
const typed = block("receiver", "readEvent(");

/** The same for the receiver: prints how requests were answered, and what was written down. */
export const RECEIVER_EXAMPLE = `
${receive.imports}
${core.imports.replace("{ verify }", "{ sign, verify }")}
${once.imports}
${typed.imports}
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import pg from "pg";

const app = express();
const saved: unknown[] = [];
const saveToInbox = async (event: string | null, _payload: unknown) => void saved.push(event);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
await pool.query("create table inbox (event jsonb)");
let refused: unknown;

${receive.code}
${once.code}
function byHand(request: IncomingMessage, rawBytes: Buffer, secret: string) {
  const reject = (reason: string, _message: string) => void (refused = reason);
  ${core.code}
}
export async function act(webhook: { payload: unknown }) {
  const completeWorkItem = async (_id: string, _status: string | null | undefined) => {};
  ${typed.code}
}
app.post("/core", express.raw({ type: "*/*" }), (request, response) => {
  byHand(request, request.body, "another secret");
  response.sendStatus(204);
});

const server = app.listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const origin = \`http://127.0.0.1:\${(server.address() as AddressInfo).port}\`;
const body = JSON.stringify({ id: randomUUID(), type: "WorkItemCompleted", occurredAtUtc: new Date().toISOString(),
  entityType: "WorkItem", entityId: randomUUID(), data: {} });
const timestamp = Math.floor(Date.now() / 1000);
async function post(path: string, secret: string): Promise<number> {
  const headers = {
    "content-type": "application/json; charset=utf-8", connection: "close",
    "x-service-timestamp": String(timestamp),
    "x-service-signature": sign(secret, timestamp, Buffer.from(body)),
    "x-service-event": "WorkItemCompleted", "x-service-delivery-id": randomUUID(),
  };
  return (await fetch(origin + path, { method: "POST", headers, body })).status;
}
const statuses = [
  await post("/hooks", "a secret"), await post("/hooks", "a wrong secret"),
  await post("/orders", "a secret"), await post("/orders", "a secret"),
];
await post("/core", "a secret");
const { rows: [{ count }] } = await pool.query("select count(*)::int as count from inbox");
console.log(JSON.stringify({ statuses, saved, inbox: count, refused }));
server.close();
await pool.end();
`;
