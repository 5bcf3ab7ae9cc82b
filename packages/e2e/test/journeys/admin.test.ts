import { names } from "@herald/common/broker/topology";
import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
import { connect } from "amqplib";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();

test("§1/manage an admin creates, lists, edits, pauses, resumes, replaces the secret of, delivers to and deletes an endpoint", async () => {
  const { api, receiver, emitter } = environment;
  const { endpoint, signingSecret } = await api.create({ url: receiver.url, name: "Billing" });
  const { id } = endpoint;
  expect(await api.list()).toEqual([endpoint]);
  expect(signingSecret).toEqual(expect.any(String));

  const renamed = await api.edit(id, { name: "Billing mirror", events: ["RiskCreated", "WorkItemCompleted"] });
  expect(renamed).toMatchObject({ endpoint: { name: "Billing mirror" }, signingSecret: null });
  expect((await api.edit(id, { enabled: false })).endpoint.enabled).toBe(false);
  expect((await api.edit(id, { enabled: true })).endpoint.enabled).toBe(true);
  const replaced = await api.edit(id, { rotateSecret: true });
  expect(replaced.signingSecret).not.toBe(signingSecret);

  expect(await api.deliver(id, "RiskCreated", "{}")).toMatchObject({ succeeded: true });
  await emitter.emit(environment.event());
  await receiver.received(2);
  await eventually(async () => expect(await environment.outcomes(id)).toEqual({ succeeded: 2 }));
  await api.delete(id);
  expect(await api.list()).toEqual([]);
  await emitter.emit(environment.event());
  await emitter.emit(environment.event({ organizationId: "another" }));
  await eventually(async () =>
    expect(await environment.db.database.prisma.businessEvent.count({ where: { organizationId: "another" } })).toBe(1),
  );
  expect(receiver.requests).toHaveLength(2);
});

test("§1/no-test-send §2.1.5 saving and checking send nothing, and only a manual delivery makes Herald send, or a resend of what was given up", async () => {
  const { api, receiver, herald, clock } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  await api.call("POST", "/checks", { url: receiver.url });
  await api.edit(endpoint.id, { name: "Renamed", rotateSecret: true });
  await api.edit(endpoint.id, { enabled: false });
  await api.edit(endpoint.id, { enabled: true });
  clock.advance(2 * 60_000);
  await environment.caughtUp(endpoint.id);
  expect(receiver.connections).toBe(0);

  const response = await fetch(`${herald.apiUrl}/openapi.json`, { headers: { connection: "close" } });
  const { paths } = (await response.json()) as { paths: Record<string, Record<string, unknown>> };
  const posts = Object.entries(paths).filter(([, operations]) => "post" in operations);
  expect(posts.map(([path]) => path)).toEqual([
    "/webhooks",
    "/webhooks/checks",
    "/webhooks/{id}/deliver",
    "/webhooks/{id}/resends",
    "/webhooks/{id}/resends/{resendId}/stop",
  ]);
  await expect(api.call("POST", `/${endpoint.id}/resends`, {})).rejects.toThrow("nothing_to_resend");
});

test("§3.1/delete endpoints that come and go while events flow cost the one that stays nothing, and leave nothing behind", async () => {
  const { api, receiver, emitter, broker, clock, db } = environment;
  const { endpoint } = await api.create({ url: `${receiver.url}/stays` });
  const emitted: string[] = [];
  async function emit(count: number): Promise<void> {
    const events = Array.from({ length: count }, () => environment.event());
    emitted.push(...events.map(({ id }) => id));
    await Promise.all(events.map((event) => emitter.emit(event)));
  }
  for (let round = 0; round < 5; round++) {
    const passing = await Promise.all([1, 2, 3].map(() => api.create({ url: `${receiver.url}/passes` })));
    const emitting = emit(20);
    await Promise.all(passing.map((created) => api.delete(created.endpoint.id)));
    await emitting;
  }
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: emitted.length }));
  const arrived = receiver.requests.filter(({ path }) => path === "/stays").map(({ body }) => JSON.parse(`${body}`).id);
  expect(arrived.sort()).toEqual(emitted.sort());
  await environment.settled();
  // What a fan-out added while its endpoint was deleted is found by the last look for it.
  clock.advance(16 * 60_000);
  const where = { organizationId: api.organizationId, endpointId: { not: endpoint.id } };
  await eventually(async () => expect(await db.database.prisma.erasure.count()).toBe(0));
  expect(await db.database.prisma.delivery.count({ where })).toBe(0);
  expect(await db.database.prisma.due.count({ where: { endpointId: { not: endpoint.id } } })).toBe(0);
  const connection = await connect(broker.url);
  try {
    const channel = await connection.createChannel();
    expect((await channel.checkQueue(names(broker.namespace).rejectedQueue)).messageCount).toBe(0);
  } finally {
    await connection.close();
  }
}, 240_000);
