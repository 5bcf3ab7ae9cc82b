import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiClient } from "@herald/e2e/herald/api-client";
import { type ServiceName, type ServiceProcess, startServiceProcess } from "@herald/e2e/herald/processes";
import { heraldSettings } from "@herald/e2e/herald/settings";
import { certificates } from "@herald/testkit/harness/certificates";
import { eventually } from "@herald/testkit/harness/eventually";
import { type HttpsReceiver, httpsReceiver } from "@herald/testkit/harness/https-receiver";
import { useBroker } from "@herald/testkit/harness/use-broker";
import { useDatabase } from "@herald/testkit/harness/use-database";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { Arrivals } from "../../src/bench/processes/receiver.ts";
import { quantile } from "../../src/bench/statistics.ts";
import { type Child, startChild } from "../../src/child.ts";

/** Events of the organization that floods: as fast as the broker takes them. */
const FLOOD = 30_000;
/** Unconfirmed at once. */
const CHUNK = 2_000;
const QUIET_PER_SECOND = 50;

const services: ServiceProcess[] = [];
const children: Child[] = [];
let folder = "";
let slow: HttpsReceiver | undefined;
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.stop()));
  await Promise.all(services.splice(0).map((service) => service.stop()));
  await slow?.close();
});
afterAll(() => rm(folder, { recursive: true, force: true }));
const db = useDatabase();
const broker = useBroker();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "herald-flood-"));
  await writeFile(join(folder, "ca.pem"), (await certificates()).caPem);
});

/**
 * What an organization notices of another one's flood, in two parts, since they are of two kinds.
 *
 * While the flood is in the inbox, which is one queue in the order of arrival, its events wait for what came before them to be
 * stored: never longer than that takes, some 8,000 events a second for each publisher.
 * Once it's stored, however many deliveries it left, they wait for nothing: claims go round the endpoints.
 */
test("a flood of one organization holds up another one's events until it's stored, and then not at all", async () => {
  const settings = heraldSettings({
    databaseUrl: db.url,
    amqpUrl: broker.url,
    namespace: broker.namespace,
    caFile: join(folder, "ca.pem"),
  });
  const start = async (name: ServiceName) => {
    const service = await startServiceProcess(name, settings);
    services.push(service);
    return service;
  };
  const [api] = await Promise.all([start("management-api"), start("publisher"), start("dispatcher")]);

  async function organization(receiverUrl: string) {
    const admin = await apiClient(`http://127.0.0.1:${api.port}`);
    const { endpoint } = await admin.create({ url: receiverUrl });
    const emitter = await child("emitter");
    const { organizationId } = admin;
    const environment = {
      url: broker.url,
      namespace: broker.namespace,
      organizationIds: [organizationId],
      timed: true,
    };
    await emitter.ask({ type: "connect", ...environment });
    return { emitter, organizationId, endpointId: endpoint.id };
  }
  const receiver = await child("receiver");
  const port = await receiver.ask<number>({ type: "listen", ...(await certificates()).trusted });
  const quiet = await organization(`https://127.0.0.1:${port}/`);
  // Ten attempts at once, a tenth of a second each: what is measured is fairness, and not how fast this machine is.
  slow = await httpsReceiver();
  slow.answerWith({ delayMs: 100 });
  const flooding = await organization(slow.url);
  const ofFlood = { organizationId: flooding.organizationId };

  async function delaysOfQuiet(seconds: number): Promise<number[]> {
    await receiver.ask({ type: "reset" });
    const emitted = await quiet.emitter.ask<number>({ type: "emitEvenly", perSecond: QUIET_PER_SECOND, seconds });
    await eventually(
      async () => expect((await receiver.ask<Record<string, number>>({ type: "counts" }))["/"]).toBe(emitted),
      {
        timeoutMs: 60_000,
      },
    );
    return (await receiver.ask<Arrivals>({ type: "arrivals" })).delays;
  }
  await delaysOfQuiet(2);
  const alone = quantile(await delaysOfQuiet(4), 0.95);

  const begun = performance.now();
  const [storedAfter, inInbox] = await Promise.all([emitFlood(), delaysOfQuiet(4)]);
  async function emitFlood(): Promise<number> {
    for (let left = FLOOD; left > 0; left -= CHUNK) await flooding.emitter.ask({ type: "emit", count: CHUNK });
    await eventually(async () => expect(await db.database.prisma.businessEvent.count({ where: ofFlood })).toBe(FLOOD), {
      timeoutMs: 90_000,
      intervalMs: 50,
    });
    return performance.now() - begun;
  }
  const longest = Math.max(...inInbox);
  expect(longest).toBeLessThan(storedAfter + 2 * alone + 1_000);

  let stored = Number.POSITIVE_INFINITY;
  // Others may use this machine; the best of a few rounds is what Herald does.
  for (let round = 0; round < 4 && stored > 2 * alone; round++) {
    stored = Math.min(stored, quantile(await delaysOfQuiet(4), 0.95));
  }
  const pending = await db.database.prisma.delivery.count({ where: { ...ofFlood, state: "pending" } });
  expect(pending).toBeGreaterThan(FLOOD / 2);
  const figures = { alone, inInbox: quantile(inInbox, 0.95), longest, storedAfter, stored, pending };
  // With all figures, so that a failure says them.
  expect({ ...figures, isFair: stored < 2 * alone }).toMatchObject({ isFair: true });
}, 180_000);

async function child(name: "emitter" | "receiver"): Promise<Child> {
  const started = await startChild(new URL(`../../dist/bench/processes/${name}.js`, import.meta.url));
  children.push(started);
  return started;
}
