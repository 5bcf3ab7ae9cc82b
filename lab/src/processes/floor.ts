import { createHmac } from "node:crypto";
import { Agent } from "node:https";
import { declareTopology, names } from "@herald/common/broker/topology";
import { answerParent } from "@herald/e2e/child";
import { type Channel, type ConsumeMessage, connect } from "amqplib";
import { Client } from "pg";
import { post, SECRET, wholly } from "./request.ts";

export type FloorRequest =
  /** `urls`: where the events of an organization go. */
  | { type: "start"; amqpUrl: string; namespace: string; databaseUrl: string; ca: string; urls: Record<string, string> }
  /** Microseconds so far. */
  | { type: "cpu" };

/** As a dispatcher's and a publisher's. */
const PREFETCH = 500;
const IN_FLIGHT = 200;
const BATCH = 100;
const GATHER_MS = 40;

interface Sent {
  message: ConsumeMessage;
  row: { id: string; organization: string; body: string; at: string; status: number };
}

answerParent<FloorRequest>((request) => {
  if (request.type === "start") return start(request);
  const { user, system } = process.cpuUsage();
  return user + system;
});

/**
 * The least that a sender on this stack does: it takes events from the inbox, sends each in a signed request, stores events and answers in batches, and
 * acknowledges what is stored. It keeps none of Herald's promises: nothing is retried, guarded, ordered or known twice.
 */
async function start({ amqpUrl, namespace, databaseUrl, ca, urls }: Extract<FloorRequest, { type: "start" }>) {
  const database = new Client({ connectionString: databaseUrl });
  await database.connect();
  await database.query(`create table floor_event (id uuid primary key, organization text, body text, at timestamptz);
    create table floor_delivery (event uuid primary key, status int, at timestamptz)`);
  const channel = await (await connect(amqpUrl)).createChannel();
  await declareTopology(channel, namespace);
  await channel.prefetch(PREFETCH);
  const store = batchesOf(database, channel);
  const agent = new Agent({ keepAlive: true, ca, ALPNProtocols: ["http/1.1"] });
  const waiting: ConsumeMessage[] = [];
  let inFlight = 0;

  async function deliver(message: ConsumeMessage): Promise<void> {
    const { organizationId, ...event } = JSON.parse(message.content.toString());
    const body = JSON.stringify(event);
    const status = await send(new URL(urls[organizationId] as string), Buffer.from(body), agent);
    const at = new Date().toISOString();
    store({ message, row: { id: event.id, organization: organizationId, body, at, status } });
  }

  async function next(): Promise<void> {
    const message = inFlight < IN_FLIGHT ? waiting.shift() : undefined;
    if (message === undefined) return;
    inFlight++;
    await deliver(message);
    inFlight--;
    void next();
  }

  for (const queue of names(namespace).inboxQueues) {
    await channel.consume(queue, (message) => {
      if (message === null) throw new Error("RabbitMQ has cancelled the consumer.");
      waiting.push(message);
      void next();
    });
  }
}

function send({ hostname: host, port, pathname: path }: URL, body: Buffer, agent: Agent): Promise<number> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac("sha256", SECRET).update(`${timestamp}.`).update(body).digest("hex");
  const headers = {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": body.length,
    "X-Service-Signature": `sha256=${signature}`,
    "X-Service-Timestamp": timestamp,
  };
  return wholly(post({ host, port, path, agent, headers }, body));
}

/** Stores what was sent, one statement at a time, and acknowledges it. */
function batchesOf(database: Client, channel: Channel): (sent: Sent) => void {
  let ended: Sent[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isRunning = false;

  async function run(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (isRunning || ended.length === 0) return;
    isRunning = true;
    const batch = ended;
    ended = [];
    const column = <Name extends keyof Sent["row"]>(name: Name) => batch.map(({ row }) => row[name]);
    await database.query({
      name: "store",
      text: `with event as (
          insert into floor_event select * from unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[]) on conflict do nothing
        )
        insert into floor_delivery select * from unnest($1::uuid[], $5::int[], $4::timestamptz[]) on conflict do nothing`,
      values: [column("id"), column("organization"), column("body"), column("at"), column("status")],
    });
    for (const { message } of batch) channel.ack(message);
    isRunning = false;
    schedule();
  }

  function schedule(): void {
    if (ended.length >= BATCH) void run();
    else if (ended.length > 0) timer ??= setTimeout(run, GATHER_MS);
  }

  return (sent) => {
    ended.push(sent);
    schedule();
  };
}
