import { eventually } from "@herald/dev/harness/eventually";
import { expect, test } from "@jest/globals";
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
