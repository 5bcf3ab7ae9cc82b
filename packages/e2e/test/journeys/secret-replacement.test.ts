import { eventually } from "@herald/dev/harness/eventually";
import { verify } from "@herald/receiver";
import { expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();

// As docs/receiving-webhooks.md says under "Replacing the secret".
test("§2.3/current a secret that is replaced while the endpoint is paused makes no delivery fail, and loses none", async () => {
  const { api, receiver, emitter, clock } = environment;
  const { endpoint, signingSecret: former } = await api.create({ url: receiver.url });
  const [before, between, after] = [environment.event(), environment.event(), environment.event()];
  await emitter.emit(before);
  await receiver.received(1);
  await environment.settled();

  await api.edit(endpoint.id, { enabled: false });
  await emitter.emit(between);
  await eventually(async () => expect((await api.find(`id=${between.id}`)).events).toHaveLength(1));
  const { signingSecret: replacement } = await api.edit(endpoint.id, { enabled: false, rotateSecret: true });
  // Here the receiver is given the new secret.
  await api.edit(endpoint.id, { enabled: true });
  await emitter.emit(after);

  const requests = await receiver.received(3);
  await environment.settled();
  const idOf = (body: Buffer) => (JSON.parse(body.toString()) as { id: string }).id;
  const secretOf = new Map([
    [before.id, former],
    [between.id, replacement],
    [after.id, replacement],
  ]);
  expect(requests.map(({ body }) => idOf(body)).sort()).toEqual([...secretOf.keys()].sort());
  for (const { body, headers } of requests) {
    const verdict = verify({ secret: secretOf.get(idOf(body)) ?? "", headers, body, now: clock.now() });
    expect([idOf(body), verdict.ok]).toEqual([idOf(body), true]);
  }
  expect(await environment.states(endpoint.id)).toEqual({ succeeded: 3 });
  expect((await api.list())[0]).toMatchObject({ consecutiveFailures: 0 });
});
