import { createHmac } from "node:crypto";
import { type Broker, connectBroker } from "@herald/common/broker/broker";
import { secretBox } from "@herald/common/security/secret-box";
import { eventually } from "@herald/dev/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/dev/harness/https-receiver";
import { insertDelivery } from "@herald/dev/harness/rows";
import { useBroker } from "@herald/dev/harness/use-broker";
import { useDatabase } from "@herald/dev/harness/use-database";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { askForManual, SECRET_KEYS, useDispatchers } from "./dispatchers.ts";

const db = useDatabase();
const rabbitmq = useBroker();
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const LARGE = JSON.stringify("x".repeat(256 * 1024 - 2));

let receiver: HttpsReceiver;
let broker: Broker;
/** Lets the attempts end that hold all bytes. */
let answer = () => {};

beforeEach(async () => {
  receiver = await httpsReceiver();
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  receiver.answerWith(async ({ path }) => {
    if (path === "/holds-bytes") await answered;
    return { status: 200 };
  });
  broker = connectBroker({ url: rabbitmq.url, namespace: rabbitmq.namespace, name: "test", log: quiet });
});
afterEach(async () => {
  await broker.close();
  await receiver.close();
});
const dispatchers = useDispatchers(db, rabbitmq);

test.each(["due", "manual"])(
  "§2.3/current §3.1/pause a %s delivery that waited for bytes meets its endpoint as it is then: edited, with a new secret, paused or deleted",
  async (kind) => {
    const { prisma } = db.database;
    const tuning = { bounds: { bodiesBytes: 1024 ** 2 }, sweepIntervalMs: 100 };
    await dispatchers.start({ ATTEMPT_TIMEOUT_SECONDS: "60" }, tuning);
    const holding = await dispatchers.insertEndpointAt(`${receiver.url}/holds-bytes`);
    for (let index = 0; index < 4; index++) await insert(holding, new Date());
    await receiver.received(4);

    const dueAt = new Date(Date.now() + (kind === "manual" ? 3_600_000 : 0));
    const [edited, replaced, paused, deleted] = await Promise.all(
      ["edited", "replaced", "paused", "deleted"].map((path) =>
        dispatchers.insertEndpointAt(`${receiver.url}/${path}`),
      ),
    );
    if (!edited || !replaced || !paused || !deleted) throw new Error("An endpoint is missing.");
    const endpoints = [edited, replaced, paused, deleted];
    const asked: Promise<unknown>[] = [];
    for (const endpoint of endpoints) {
      const { id } = await insert(endpoint, dueAt);
      if (kind === "manual") asked.push(askForManual(broker, db, { endpoint, deliveryId: id, dueAt }));
    }
    const waiting = { endpointId: { in: endpoints.map(({ id }) => id) } };
    // They are at hand, and no byte is free for them. What can be seen of it is that nothing is sent.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(receiver.requests.map(({ path }) => path)).toEqual(Array.from({ length: 4 }, () => "/holds-bytes"));

    const revision = { increment: 1 };
    await prisma.webhookEndpoint.update({ where: edited, data: { url: `${receiver.url}/new`, revision } });
    const sealedSecret = secretBox(SECRET_KEYS).seal("new secret", replaced.id);
    await prisma.webhookEndpoint.update({ where: replaced, data: { sealedSecret, revision } });
    await prisma.webhookEndpoint.update({ where: paused, data: { enabled: false, revision } });
    await prisma.webhookEndpoint.delete({ where: deleted });
    // What was read may be half a second old.
    await new Promise((resolve) => setTimeout(resolve, 600));
    answer();

    await Promise.all(asked);
    // The paused one's waits, and so does the deleted one's: it is erased by the publisher.
    await eventually(async () => expect(await prisma.due.count({ where: waiting })).toBe(2));
    const sent = receiver.requests.slice(4).map(({ path, headers, body }) => {
      const signed = (secret: string) => {
        const hmac = createHmac("sha256", secret).update(`${headers["x-service-timestamp"]}.`).update(body);
        return headers["x-service-signature"] === `sha256=${hmac.digest("hex")}`;
      };
      return { path, secret: ["secret", "new secret"].find(signed) };
    });
    expect(sent.sort((one, other) => one.path.localeCompare(other.path))).toEqual([
      { path: "/new", secret: "secret" },
      { path: "/replaced", secret: "new secret" },
    ]);
    expect(await prisma.due.count({ where: { endpointId: paused.id, attempts: 0 } })).toBe(1);
  },
);

/** All large deliveries are of one organization, which may use all bytes. */
function insert(endpoint: { id: string; organizationId: string }, dueAt: Date) {
  return insertDelivery(db.database.prisma, endpoint, { createdAt: new Date(), body: LARGE, due: { dueAt } });
}
