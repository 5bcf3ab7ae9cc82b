import type { DeliveryDetails } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { verify } from "@herald/receiver";
import { afterEach, expect, test } from "@jest/globals";
import { useTestEnvironment } from "./test-environment.ts";

const environment = useTestEnvironment();

/** Lets receivers that wait for it answer. */
let answer: (status: number) => void = () => {};
afterEach(() => answer(200));

/** Requests wait until the test gives one answer, which all of them get. */
function holdAnswers(): void {
  const given = new Promise<number>((resolve) => {
    answer = resolve;
  });
  environment.receiver.answerWith(async () => ({ status: await given }));
}

test("§2.3/in-flight an edit leaves the attempt under way alone; its failure is no longer the endpoint's, and the retry goes the new way", async () => {
  const { api, receiver, emitter, clock } = environment;
  const { endpoint, signingSecret } = await api.create({ url: `${receiver.url}/old` });
  holdAnswers();
  await emitter.emit(environment.event());
  await receiver.received(1);
  const edited = await api.edit(endpoint.id, { url: `${receiver.url}/new`, rotateSecret: true });
  answer(500);
  await environment.settled();
  const failed = await api.get(endpoint.id);
  expect(failed).toMatchObject({ consecutiveFailures: 0, deliveries: [{ attemptCount: 1, statusCode: 500 }] });

  receiver.answerWith({ status: 200 });
  await environment.advanceToNextAttempts(endpoint.id);
  const [first, second] = await receiver.received(2);
  const signedWith = (request: typeof first, secret: string | null) => {
    const { headers = {}, body = Buffer.alloc(0) } = request ?? {};
    return verify({ secret: secret ?? "", headers, body, now: clock.now() }).ok;
  };
  expect([first?.path, signedWith(first, signingSecret)]).toEqual(["/old", true]);
  expect([second?.path, signedWith(second, edited.signingSecret)]).toEqual(["/new", true]);
});

test("§3.1/pause an attempt under way when the endpoint is paused still counts for its delivery, and its retry waits", async () => {
  const { api, receiver, emitter } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  holdAnswers();
  await emitter.emit(environment.event());
  await receiver.received(1);
  await api.edit(endpoint.id, { enabled: false });
  answer(500);
  await environment.settled();
  await environment.advanceToNextAttempts(endpoint.id);
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ parked: 1 }));

  holdAnswers();
  await api.edit(endpoint.id, { enabled: true });
  await receiver.received(2);
  await api.edit(endpoint.id, { enabled: false });
  answer(200);
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: 1 }));
  expect(await api.get(endpoint.id)).toMatchObject({ enabled: false, consecutiveFailures: 0 });
});

test("§3.1/delete-in-flight a deletion doesn't wait for attempts under way, and nothing is left of them", async () => {
  const { api, receiver, emitter, db, clock } = environment;
  const { endpoint } = await api.create({ url: `${receiver.url}/deleted` });
  const other = await api.create({ url: `${receiver.url}/kept`, events: ["RiskCreated"] });
  holdAnswers();
  const held: Promise<void>[] = [];
  for (let index = 0; index < 12; index++) held.push(emitter.emit(environment.event()));
  await Promise.all(held);
  await receiver.received(10);
  await api.delete(endpoint.id);
  answer(500);
  receiver.answerWith({ status: 200 });

  // The dispatcher goes on as before.
  await emitter.emit(environment.event({ type: "RiskCreated" }));
  await eventually(async () => expect(await environment.outcomes(other.endpoint.id)).toEqual({ succeeded: 1 }));
  // The publisher erases what is there at once, and what was added meanwhile a quarter of an hour later.
  clock.advance(60 * 60_000);
  await environment.settled();
  const { organizationId } = api;
  await eventually(async () => expect(await db.database.prisma.delivery.count({ where: { organizationId } })).toBe(1));
  await eventually(async () => expect(await db.database.prisma.erasure.count()).toBe(0));
  expect(await db.database.prisma.due.count({ where: { endpointId: endpoint.id } })).toBe(0);
  expect(receiver.requests.filter(({ path }) => path === "/deleted")).toHaveLength(10);
});

test("a manual delivery whose endpoint is deleted while the receiver answers is a 404", async () => {
  const { api, receiver } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  holdAnswers();
  const delivering = api.deliver(endpoint.id, "WorkItemCompleted", "{}").catch((error: Error) => error.message);
  await receiver.received(1);
  await api.delete(endpoint.id);
  answer(200);
  expect(await delivering).toContain("answered 404");
});

test("a manual delivery doesn't queue behind an endpoint's own events", async () => {
  const { api, receiver, emitter } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  receiver.answerWith(async ({ body }) => {
    if (body.toString() !== "{}") await answered;
    return { status: 200 };
  });
  await Promise.all(Array.from({ length: 25 }, () => emitter.emit(environment.event())));
  await receiver.received(10);
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ waiting: 25 }));
  expect(await api.deliver(endpoint.id, "WorkItemCompleted", "{}")).toMatchObject({ succeeded: true });
  expect(await environment.outcomes(endpoint.id)).toEqual({ waiting: 25, succeeded: 1 });
  answer();
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: 26 }));
});

test("an event type that is unsubscribed while its deliveries wait is still sent: they were due when it was subscribed", async () => {
  const { api, receiver, emitter } = environment;
  const { endpoint } = await api.create({ url: receiver.url });
  receiver.answerWith({ status: 500 });
  await emitter.emit(environment.event());
  await receiver.received(1);
  await environment.settled();
  await api.edit(endpoint.id, { events: ["RiskCreated"] });
  receiver.answerWith({ status: 200 });
  await emitter.emit(environment.event());
  await environment.advanceToNextAttempts(endpoint.id);
  await eventually(async () => expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: 1 }));
  const [delivery] = (await api.get(endpoint.id)).deliveries;
  const details = await api.read<DeliveryDetails>(`/${endpoint.id}/deliveries/${delivery?.id}`);
  expect(details.attempts).toHaveLength(2);
});

// These are the steps of docs/receiving-webhooks.md, "Replacing the secret".
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
  expect(await environment.outcomes(endpoint.id)).toEqual({ succeeded: 3 });
  expect((await api.list())[0]).toMatchObject({ consecutiveFailures: 0 });
});
