import { eventually } from "@herald/dev/harness/eventually";
import { type NameServer, NO_ROUTE, nameServer } from "@herald/dev/harness/name-server";
import { freePort } from "@herald/dev/stack/ports";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { useDispatchers } from "../dispatchers.ts";

const answer = (names: NameServer) => names.answerWith(["127.0.0.1"]);

/** How Herald's own network can fail, and come back. Each costs the seconds that Herald needs to be sure. */
const MODES: [name: string, breakIt: (names: NameServer) => unknown, mendIt: (names: NameServer) => unknown][] = [
  ["the name server is dead", (names) => names.die(), (names) => names.revive()],
  ["the name server is silent", (names) => names.answerWith("silence"), answer],
  ["the name server fails", (names) => names.answerWith("failed"), answer],
  ["there is no route", (names) => names.answerWith([NO_ROUTE]), answer],
];

const { db, receiver, start, insertEndpointAt, insertDeliveries } = useDispatchers({ names: ["*.receivers.example"] });
const ORGANIZATIONS = 40;
const DELIVERIES = 2;
/**
 * An attempt may wait 15 s for its name: 11 s for another attempt's look-up to fail, and 4 s until its own asks a second time. At the usual deadline of
 * 15 s, its request may leave as its time is up, and is rightly repeated (§4.4.10). With a later one, each delivery is requested once.
 */
const PATIENT = { ATTEMPT_TIMEOUT_SECONDS: "60" };

let names: NameServer;
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
async function seenAt(operations: string): Promise<{ network: boolean; outage: string | undefined }> {
  const [readiness, metrics] = await Promise.all([fetch(`${operations}/readyz`), fetch(`${operations}/metrics`)]);
  const { network } = (await readiness.json()) as { network: boolean };
  return { network, outage: /^herald_outage\S* (\d)$/m.exec(await metrics.text())?.[1] };
}

async function expectNothingRecorded(): Promise<void> {
  const { prisma } = db.database;
  const where = { OR: [{ attemptCount: { gt: 0 } }, { statusCode: { not: null } }] };
  expect(await prisma.delivery.count({ where })).toBe(0);
  expect(await prisma.deliveryAttempt.count()).toBe(0);
  expect(await prisma.webhookEndpoint.count({ where: { consecutiveFailures: { gt: 0 } } })).toBe(0);
}

test.each(MODES)(
  "forty organizations, no way to their receivers, %s: no failure is recorded or counted, and all arrives when Herald is back",
  async (_mode, breakIt, mendIt) => {
    await breakIt(names);
    await storeDeliveries();
    const port = await freePort();
    const seen = () => seenAt(`http://127.0.0.1:${port}`);
    await start({ ...PATIENT, DNS_SERVERS: names.address, OPERATIONS_PORT: String(port) }, { sweepIntervalMs: 50 });
    await eventually(async () => expect(await seen()).toEqual({ network: false, outage: "1" }));
    await expectNothingRecorded();
    await mendIt(names);
    await eventually(async () => expect(await seen()).toEqual({ network: true, outage: "0" }));
    const { prisma } = db.database;
    await eventually(async () =>
      expect(await prisma.delivery.count({ where: { NOT: { state: "succeeded" } } })).toBe(0),
    );
    expect(await prisma.delivery.count({ where: { NOT: { attemptCount: 1 } } })).toBe(0);
    const requested = receiver.requests.map(({ headers }) => headers["x-service-delivery-id"]);
    const stored = await prisma.delivery.findMany({ select: { id: true } });
    expect(requested.toSorted()).toEqual(stored.map(({ id }) => id).toSorted());
    expect(await seen()).toEqual({ network: true, outage: "0" });
  },
);
