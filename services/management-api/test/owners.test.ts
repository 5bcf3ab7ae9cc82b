import { randomUUID } from "node:crypto";
import { type Broker, connectBroker } from "@herald/common/broker/broker";
import { openDatabase } from "@herald/common/database/open-database";
import type { Log } from "@herald/common/telemetry/log";
import type { EndpointChanged, ManualRequest } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { insertEndpoint, ownShards } from "@herald/dev/harness/rows";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
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
      got.push(JSON.parse(message.content.toString()));
      message.ack();
    },
  });
  await broker.ready();
});

test.each<[string, (of: Pick<EndpointChanged, "endpointId" | "organizationId">) => EndpointChanged | ManualRequest]>([
  ["its change", (of) => ({ kind: "changed", ...of })],
  [
    "a manual delivery",
    (of) => ({
      ...{ kind: "manual", ...of, deliveryId: randomUUID(), dueAtUtc: new Date().toISOString(), traceparent: null },
    }),
  ],
])(
  "the owner of an endpoint's shard is notified of %s, and no process if the shard has no owner",
  async (_of, messageOf) => {
    const { queries, prisma } = db.database;
    const tell = ownerTeller({ broker, queries, log });
    const [owned, free] = [await insertEndpoint(prisma), await insertEndpoint(prisma)];
    await ownShards(prisma, null);
    const toFree = messageOf({ endpointId: free.id, organizationId: free.organizationId });
    const toOwned = messageOf({ endpointId: owned.id, organizationId: owned.organizationId });
    got.length = 0;
    expect(await tell(toFree)).toBe(false);
    await ownShards(prisma, OWNER);
    // The sender's channel may not be open yet; what it does not take is dropped.
    await eventually(async () => {
      expect(await tell(toOwned)).toBe(true);
      expect(got).not.toEqual([]);
    });
    expect(new Set(got.map((message) => JSON.stringify(message)))).toEqual(new Set([JSON.stringify(toOwned)]));
    expect(warned).toEqual([]);
  },
);

test("a change is no failure if PostgreSQL can't say who the owner is", async () => {
  const away = openDatabase("postgresql://nobody@127.0.0.1:1/none");
  try {
    const changed = { kind: "changed", endpointId: randomUUID(), organizationId: "organization-1" } as const;
    expect(await ownerTeller({ broker, queries: away.queries, log })(changed)).toBe(false);
    expect(warned).toHaveLength(1);
  } finally {
    await away.close();
  }
});

describe("each change of an endpoint", () => {
  const notified: { id: string; revision: bigint | undefined }[] = [];
  const api = useApi({
    tellOwner: async ({ endpointId: id }) => {
      const row = await api.prisma.webhookEndpoint.findUnique({ where: { id } });
      notified.push({ id, revision: row?.revision });
      return true;
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
