import { eventually } from "@herald/dev/harness/eventually";
import { type NameServer, NO_ROUTE, nameServer } from "@herald/dev/harness/name-server";
import { freePort } from "@herald/dev/stack/ports";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { useDispatchers } from "./dispatchers.ts";

/** How Herald's own network can fail, and come back. */
const MODES = {
  "the name server is dead": { breakIt: (names) => names.die(), mendIt: (names) => names.revive() },
  "the name server is silent": { breakIt: (names) => names.answerWith("silence"), mendIt: answer },
  "the name server fails": { breakIt: (names) => names.answerWith("failed"), mendIt: answer },
  "there is no route": { breakIt: (names) => names.answerWith([NO_ROUTE]), mendIt: answer },
} satisfies Record<string, Record<"breakIt" | "mendIt", (names: NameServer) => unknown>>;

function answer(names: NameServer): unknown {
  return names.answerWith(["127.0.0.1"]);
}

const { db, receiver, start, insertEndpointAt, insertDeliveries } = useDispatchers({ names: ["*.receivers.example"] });
const ORGANIZATIONS = 40;
const DELIVERIES = 2;

let names: NameServer;
let operations: string;

beforeEach(async () => {
  // Each attempt needs a connection of its own.
  receiver.answerWith({ headers: { connection: "close" } });
  names = await nameServer();
});
afterEach(() => names.close());

/** Stores deliveries of forty organizations, each with an endpoint that has a host of its own. */
async function storeDeliveries(): Promise<void> {
  for (let index = 0; index < ORGANIZATIONS; index++) {
    const endpoint = await insertEndpointAt(`https://o${index}.receivers.example:${receiver.port}/o${index}`);
    await insertDeliveries(endpoint, DELIVERIES);
  }
}

/** The readiness and the metric, as operators see them. */
async function seen(): Promise<{ network: boolean; outage: string | undefined }> {
  const [readiness, metrics] = await Promise.all([fetch(`${operations}/readyz`), fetch(`${operations}/metrics`)]);
  const { network } = (await readiness.json()) as { network: boolean };
  return { network, outage: /^herald_outage\S* (\d)$/m.exec(await metrics.text())?.[1] };
}

async function expectNothingRecorded(): Promise<void> {
  const { prisma } = db.database;
  expect(
    await prisma.delivery.count({ where: { OR: [{ attemptCount: { gt: 0 } }, { statusCode: { not: null } }] } }),
  ).toBe(0);
  expect(await prisma.deliveryAttempt.count()).toBe(0);
  expect(await prisma.webhookEndpoint.count({ where: { consecutiveFailures: { gt: 0 } } })).toBe(0);
}

/** The requests that arrived, by the id of their delivery. */
const sent = () => Map.groupBy(receiver.requests, ({ headers }) => String(headers["x-service-delivery-id"]));

/**
 * Each delivery has one attempt that counts. Its request may arrive twice all the same (§4.4.10): if the answer was not read before the
 * deadline, and the outage was still on or this process stood still, the failure is Herald's own. It is not counted, and the delivery is sent again.
 */
async function expectOneCounted(): Promise<void> {
  const { prisma } = db.database;
  await eventually(async () => expect(await prisma.delivery.count({ where: { NOT: { state: "succeeded" } } })).toBe(0));
  const stored = new Map((await prisma.delivery.findMany()).map((delivery) => [delivery.id, delivery]));
  const repeated = [...sent()].filter(([, requests]) => requests.length > 1);
  const told = repeated.map(([id, requests]) => ({
    ...{ id, arrived: requests.map(({ receivedAt }) => receivedAt.toISOString()) },
    wasFirstCounted: stored.get(id)?.attemptCount !== 1,
  }));
  if (told.length > 0) process.stderr.write(`sent more than once: ${JSON.stringify(told)}\n`);
  expect([...stored.values()].filter(({ attemptCount }) => attemptCount !== 1)).toEqual([]);
}

/** Tests one of the modes. Each costs the seconds that Herald needs to be sure. */
export function testOutage(mode: keyof typeof MODES): void {
  const { breakIt, mendIt } = MODES[mode];
  test(`forty organizations, no way to their receivers, ${mode}: no failure is recorded or counted, and all arrives when Herald is back`, async () => {
    await breakIt(names);
    await storeDeliveries();
    const port = await freePort();
    operations = `http://127.0.0.1:${port}`;
    await start({ DNS_SERVERS: names.address, OPERATIONS_PORT: String(port) }, { sweepIntervalMs: 50 });
    await eventually(async () => expect(await seen()).toEqual({ network: false, outage: "1" }));
    await expectNothingRecorded();
    await mendIt(names);
    await eventually(() => expect(sent().size).toBe(ORGANIZATIONS * DELIVERIES));
    await expectOneCounted();
    expect(await seen()).toEqual({ network: true, outage: "0" });
  });
}
