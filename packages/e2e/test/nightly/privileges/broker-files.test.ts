import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { names, ownerQueueOf } from "@herald/common/broker/topology";
import { ownerOf } from "@herald/common/database/shards";
import type { EndpointChanged, HandOver, ManualRequest } from "@herald/contracts";
import { makeAuthority } from "@herald/dev/certificates/authority";
import { certificates } from "@herald/dev/harness/certificates";
import { eventually } from "@herald/dev/harness/eventually";
import { httpsReceiver } from "@herald/dev/harness/https-receiver";
import { insertDelivery } from "@herald/dev/harness/rows";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { useDatabase } from "@herald/dev/harness/use-database";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { createEmitter } from "@herald/emitter";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { type Channel, type ChannelModel, connect } from "amqplib";
import { apiClient } from "../../../src/herald/api-client.ts";
import { startHerald } from "../../../src/herald/in-process.ts";
import { workItemCompleted } from "../../journeys/test-environment.ts";
import { projectFile } from "../operations/project-files.ts";

const USERS = ["api", "publisher", "dispatcher", "herald", "emitter", "product"] as const;
type BrokerUser = (typeof USERS)[number];

const db = useDatabase();
const folder = mkdtempSync(join(tmpdir(), "herald-broker-files-"));
const receiversCa = join(folder, "receivers.pem");
const brokersCa = join(folder, "broker.pem");
const own = names("herald");
let ca: string;
let node: RabbitmqNode;
/** Of all users. */
const password = randomBytes(12).toString("hex");

beforeAll(async () => {
  const authority = await makeAuthority("The company's own");
  ca = authority.cert;
  writeFileSync(brokersCa, ca);
  writeFileSync(receiversCa, (await certificates()).caPem);
  const { executable } = await askForRabbitmqServer();
  const tls = await authority.issue({ names: ["localhost"] });
  node = await startRabbitmqNode(executable, {
    ...{ folder: join(folder, "rabbitmq"), disposable: true, tls },
  });
}, STACK_TIMEOUT_MS);

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await node.control(["delete_vhost", "herald"]);
  for (const user of USERS) await node.control(["delete_user", user]);
}, STACK_TIMEOUT_MS);
afterAll(async () => {
  await node?.stop();
  rmSync(folder, { recursive: true, force: true });
}, STACK_TIMEOUT_MS);

/** Makes the virtual host `herald` and its users on the node, as docs/operating/rabbitmq.md says. */
async function importDefinitions(): Promise<void> {
  const text = projectFile("deploy/rabbitmq/definitions.json").replaceAll(/PASSWORD_OF_\w+/g, password);
  writeFileSync(join(folder, "definitions.json"), text);
  await node.control(["import_definitions", join(folder, "definitions.json")]);
}

const urlOf = (user: BrokerUser) => `amqps://${user}:${password}@localhost:${node.tlsPort}/herald`;

async function connectAs(user: BrokerUser): Promise<ChannelModel> {
  const connection = await connect(urlOf(user), { ca });
  closing.push(() => connection.close());
  return connection;
}

/** A refusal of the broker ends its channel. */
async function refusal(connection: ChannelModel, attempt: (channel: Channel) => Promise<unknown>): Promise<string> {
  const channel = await connection.createConfirmChannel();
  return await new Promise((resolve, reject) => {
    channel.on("error", (error: Error) => resolve(error.message));
    attempt(channel).then(
      () =>
        channel.waitForConfirms().then(
          () => reject(new Error("Nothing was refused.")),
          () => undefined,
        ),
      () => undefined,
    );
  });
}

const FORGED = '{"forged":true}';

test(
  "with the users of deploy/rabbitmq/definitions.json all of Herald works over TLS with an authority of one's own and no other, and no user may do more",
  async () => {
    await importDefinitions();
    const herald = await startHerald(
      {
        ...{ databaseUrl: db.url, amqpUrl: urlOf("herald"), namespace: "herald", caFile: receiversCa },
        serviceUrls: { "management-api": urlOf("api"), publisher: urlOf("publisher"), dispatcher: urlOf("dispatcher") },
      },
      { settings: { AMQP_CA_FILE: brokersCa } },
    );
    closing.push(() => herald.stop());
    const receiver = await httpsReceiver();
    closing.push(() => receiver.close());
    const emitter = createEmitter({ url: urlOf("emitter"), ca, timeoutMs: 60_000 });
    closing.push(() => emitter.close());
    const { cert } = await makeAuthority("Another one");
    const refusedCertificate = await new Promise<Error>((resolve) => {
      const stranger = createEmitter({
        ...{ url: urlOf("emitter"), ca: cert },
        onFailure: (error) => void stranger.close().then(() => resolve(error)),
      });
    });
    expect(refusedCertificate.message).toMatch(/unable to verify|self-signed/);
    const [heraldUser, emitterUser, productUser] = await Promise.all(
      (["herald", "emitter", "product"] as const).map(connectAs),
    );
    if (!heraldUser || !emitterUser || !productUser) throw new Error("Nobody connected.");

    // The product hears of an event that was rejected, which its emitter sent past the kit.
    const notices: string[] = [];
    const product = await productUser.createChannel();
    await product.assertQueue("product.notices", { durable: true });
    await product.bindQueue("product.notices", own.noticesExchange, "#");
    await product.consume("product.notices", (message) => message && notices.push(message.content.toString()), {
      noAck: true,
    });
    const raw = await emitterUser.createConfirmChannel();
    const api = await apiClient(herald.apiUrl, undefined, { untilAvailable: true });
    const half = { organizationId: api.organizationId, id: "not an id" };
    raw.publish(own.eventsExchange, "WorkItemCompleted", Buffer.from(JSON.stringify(half)));
    await raw.waitForConfirms();
    await eventually(() => expect(notices).toEqual([expect.stringContaining(api.organizationId)]));

    // Hand-overs, and requests for manual deliveries.
    const { endpoint } = await api.create({ url: receiver.url });
    await emitter.emit(workItemCompleted(api.organizationId));
    await receiver.received(1);
    expect(await api.deliver(endpoint.id, "WorkItemCompleted", "{}")).toMatchObject({ succeeded: true });

    const listed = await node.control(["list_connections", "--no-table-headers", "ssl"]);
    expect(new Set(listed.trim().split("\n"))).toEqual(new Set(["true"]));

    const refused = /ACCESS_REFUSED/;
    const text = Buffer.from("x");
    const send = (exchange: string, key: string) => async (channel: Channel) => channel.publish(exchange, key, text);
    expect(await refusal(emitterUser, (channel) => channel.get(own.rejectedQueue))).toMatch(refused);
    expect(await refusal(emitterUser, (channel) => channel.assertQueue("mine"))).toMatch(refused);
    expect(await refusal(emitterUser, send("", own.rejectedQueue))).toMatch(refused);
    expect(await refusal(productUser, send(own.eventsExchange, "WorkItemCompleted"))).toMatch(refused);
    expect(await refusal(productUser, (channel) => channel.get(own.inboxQueues[0] as string))).toMatch(refused);
    expect(await refusal(heraldUser, (channel) => channel.assertQueue("product.other"))).toMatch(refused);

    // Messages that an attacker in one of them could send. The broker refuses it, or the dispatcher does.
    const forgedId = "01a206f2-0000-8000-8000-0000000000ff";
    const { organizationId } = api;
    const named = { endpointId: endpoint.id, organizationId };
    const { revision } = await db.database.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } });
    const now = new Date().toISOString();
    const handOver: HandOver = {
      stored: true,
      events: [{ eventType: "WorkItemCompleted", body: FORGED, traceparent: null, key: forgedId, receivedAtUtc: now }],
      deliveries: [{ deliveryId: forgedId, ...named, revision: String(revision), readAtUtc: now, event: 0 }],
      work: [],
    };
    const due = { dueAt: new Date(Date.now() + 600_000) };
    const { id: deliveryId } = await insertDelivery(db.database.prisma, { id: endpoint.id, organizationId }, { due });
    const request: ManualRequest = {
      kind: "manual",
      ...named,
      deliveryId,
      dueAtUtc: due.dueAt.toISOString(),
      traceparent: null,
    };
    const change: EndpointChanged = { kind: "changed", ...named };
    const owner = (await ownerOf(db.database.queries, endpoint.id)) ?? "";
    const ownerQueue = ownerQueueOf("herald", owner);
    const forge = (exchange: string, key: string, message: object) => async (channel: Channel) =>
      channel.publish(exchange, key, Buffer.from(JSON.stringify(message)));
    const forgeries = {
      handOver: forge(own.dispatchExchange, owner, handOver),
      handOverByRequests: forge(own.requestsExchange, owner, handOver),
      handOverPastExchange: forge("", ownerQueue, handOver),
      request: forge(own.requestsExchange, owner, request),
      requestByDispatch: forge(own.dispatchExchange, owner, request),
      requestPastExchange: forge("", ownerQueue, request),
      change: forge(own.requestsExchange, owner, change),
    };
    const all = Object.keys(forgeries) as (keyof typeof forgeries)[];
    // The others come from an exchange that is not their own, and the dispatcher drops them.
    const refusedTo: Record<string, (keyof typeof forgeries)[]> = {
      api: ["handOver", "handOverPastExchange", "requestByDispatch", "requestPastExchange"],
      publisher: ["handOverByRequests", "request", "change"],
      dispatcher: ["handOver", "handOverByRequests", "request", "requestByDispatch", "change"],
      emitter: all,
      product: all,
    };
    for (const [user, refusals] of Object.entries(refusedTo)) {
      const connection = await connectAs(user as BrokerUser);
      for (const what of refusals)
        expect([user, what, await refusal(connection, forgeries[what])]).toEqual([
          user,
          what,
          expect.stringMatching(refused),
        ]);
    }
    // The queue of a dispatcher is its own: no other connection reads it, not even of the same user.
    for (const user of ["herald", "dispatcher"] as const) {
      const connection = await connectAs(user);
      expect(await refusal(connection, (channel) => channel.get(ownerQueue))).toMatch(/RESOURCE_LOCKED/);
    }
    const [publisherUser, apiUser] = [await connectAs("publisher"), await connectAs("api")];
    const channel = await publisherUser.createConfirmChannel();
    await forgeries.handOverPastExchange(channel);
    await forgeries.requestPastExchange(channel);
    await forgeries.requestByDispatch(channel);
    await channel.waitForConfirms();
    const apiChannel = await apiUser.createConfirmChannel();
    await forgeries.handOverByRequests(apiChannel);
    await apiChannel.waitForConfirms();
    // A later event has passed them in the queue.
    await emitter.emit(workItemCompleted(organizationId));
    expect(await api.deliver(endpoint.id, "WorkItemCompleted", '{"last":true}')).toMatchObject({ succeeded: true });
    await receiver.received(4);
    expect(receiver.requests.map(({ body }) => String(body)).join()).not.toContain(FORGED);
    expect(receiver.requests).toHaveLength(4);
    // The forgery is one: what publishers may write is believed.
    await forgeries.handOver(channel);
    await receiver.received(5);
    expect(String(receiver.requests[4]?.body)).toBe(FORGED);
  },
  STACK_TIMEOUT_MS,
);
