import { randomUUID } from "node:crypto";
import { type Broker, connectBroker } from "@herald/common/broker/broker";
import { openDatabase } from "@herald/common/database/open-database";
import type { Log } from "@herald/common/telemetry/log";
import { eventually } from "@herald/dev/harness/eventually";
import { insertEndpoint, ownShards } from "@herald/dev/harness/rows";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { attemptRequester } from "../src/deliveries/deliver-manually.ts";
import { ownerTeller } from "../src/endpoints/tell-owner.ts";
import { create, edit, settings, useApi } from "./support/use-api.ts";

const OWNER = randomUUID();
let broker: Broker;
// Before the place of the broker looks for connections that are left.
afterAll(() => broker.close());
const db = useDatabase();
const place = useBroker();
const warned: string[] = [];
const log = { debug() {}, info() {}, warn: (message: string) => warned.push(message), error() {} } as unknown as Log;

/** The messages that the owner got. */
const got: object[] = [];

beforeAll(async () => {
  broker = connectBroker({ url: place.url, namespace: place.namespace, name: "owners test", log });
  broker.consumeAsOwner(OWNER, {
    prefetch: 10,
    handle: async (message) => {
      const read = JSON.parse(message.content.toString());
      got.push(read);
      if (read.kind === "manual") message.reply(Buffer.from("{}"));
      message.ack();
    },
  });
  await broker.ready();
});

describe("over the broker", () => {
  const requested = (endpointId: string) => ({
    kind: "manual" as const,
    deliveryId: randomUUID(),
    endpointId,
    organizationId: "organization-1",
    dueAtUtc: new Date().toISOString(),
  });

  test("the owner of an endpoint's shard is notified of its change, and no process if the shard has no owner", async () => {
    const { queries, prisma } = db.database;
    const tell = ownerTeller({ broker, queries, log });
    const [owned, free] = [await insertEndpoint(prisma), await insertEndpoint(prisma)];
    await ownShards(prisma, null);
    await tell(free);
    await ownShards(prisma, OWNER);
    // The sender's channel may not be open yet; what it does not take is dropped.
    await eventually(async () => {
      await tell(owned);
      expect(got).not.toEqual([]);
    });
    const { id: endpointId, organizationId } = owned;
    expect(new Set(got.map((message) => JSON.stringify(message)))).toEqual(
      new Set([JSON.stringify({ kind: "changed", endpointId, organizationId })]),
    );
    expect(warned).toEqual([]);
  });

  test("a change is no failure if PostgreSQL can't say who the owner is", async () => {
    const away = openDatabase("postgresql://nobody@127.0.0.1:1/none");
    try {
      await ownerTeller({ broker, queries: away.queries, log })({ id: randomUUID(), organizationId: "organization-1" });
      expect(warned).toHaveLength(1);
    } finally {
      await away.close();
    }
  });

  test("a manual delivery's first attempt is asked of the owner", async () => {
    const { queries, prisma } = db.database;
    await ownShards(prisma, OWNER);
    const request = requested(randomUUID());
    await attemptRequester({ broker, queries }, { timeoutMs: 60_000 })(request, undefined);
    expect(got.at(-1)).toEqual(request);
  });

  test("if the endpoint has no owner, or its owner is gone, a manual delivery waits for no answer", async () => {
    const { queries, prisma } = db.database;
    const request = attemptRequester({ broker, queries }, { timeoutMs: 600_000 });
    const before = got.length;
    await ownShards(prisma, null);
    await request(requested(randomUUID()), undefined);
    await ownShards(prisma, randomUUID());
    await request(requested(randomUUID()), undefined);
    expect(got).toHaveLength(before);
  });
});

describe("each change of an endpoint", () => {
  const notified: { id: string; revision: bigint | undefined }[] = [];
  const api = useApi({
    tellOwner: async ({ id }) => {
      const row = await api.prisma.webhookEndpoint.findUnique({ where: { id } });
      notified.push({ id, revision: row?.revision });
    },
  });

  test("§2.3/current the owner learns of an edit, a pause, a resume, a new secret or a deletion when it is stored, before the client does", async () => {
    const client = await api.as({ organizationId: api.newOrganization() });
    const { endpoint } = await create(client);
    const { id } = endpoint;
    expect(notified).toEqual([]);
    let current = endpoint;
    for (const change of [{ name: "another" }, { enabled: false }, { enabled: true }, { rotateSecret: true }]) {
      const before = notified.length;
      ({ endpoint: current } = await edit(client, current, change));
      expect(notified).toHaveLength(before + 1);
    }
    expect(notified).toEqual([2n, 3n, 4n, 5n].map((revision) => ({ id, revision })));
    await client.put(`/webhooks/${id}`, settings({ version: endpoint.version })).expect(409);
    expect(notified).toHaveLength(4);
    await client.delete(`/webhooks/${id}`, { version: current.version }).expect(204);
    expect(notified.at(-1)).toEqual({ id, revision: undefined });
  });
});
