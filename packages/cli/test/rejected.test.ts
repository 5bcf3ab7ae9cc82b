import { declareTopology, names } from "@herald/common/broker/topology";
import { eventually } from "@herald/dev/harness/eventually";
import { useBroker } from "@herald/dev/harness/use-broker";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type ChannelModel, type ConfirmChannel, connect } from "amqplib";
import { callHerald, objectsIn, runHerald } from "./run-herald.ts";

const broker = useBroker();
const { eventsExchange, rejectedQueue, inboxQueues } = names(broker.namespace);
/** Of the event "one", by the hash of its id, since it has no organization. */
const inboxQueue = inboxQueues[1] as string;

let connection: ChannelModel;
let channel: ConfirmChannel;

beforeEach(async () => {
  connection = await connect(broker.url);
  channel = await connection.createConfirmChannel();
  await declareTopology(channel, broker.namespace);
});
afterEach(async () => {
  await channel.purgeQueue(rejectedQueue);
  for (const queue of inboxQueues) await channel.purgeQueue(queue);
  await connection.close();
});

const settings = () => ({ AMQP_URL: broker.url, BROKER_NAMESPACE: broker.namespace });
const run = (...args: string[]) => callHerald(["rejected", ...args], settings());

async function put(text: string | Buffer, reason = "/id must match format", headers = {}): Promise<void> {
  channel.sendToQueue(rejectedQueue, Buffer.from(text), {
    headers: { ...headers, "x-herald-reason": reason },
    contentType: "application/json",
    persistent: true,
  });
  await channel.waitForConfirms();
}

/** Waits, since a message that a command gave back is in the queue only a moment after the command ended. */
const expectDepth = (queue: string, depth: number) =>
  eventually(async () => expect((await channel.checkQueue(queue)).messageCount).toBe(depth));

async function listed(): Promise<{ id: string; reason: string; [fact: string]: unknown }[]> {
  const { code, stdout } = await run("list", "--json");
  expect(code).toBe(0);
  return objectsIn(stdout);
}

test.each(["list", "list --json", "show ID", "show nowhere\u001b[2J\u202e"])(
  "rejected %s sends a terminal nothing that steers it or deceives its reader",
  async (words) => {
    await put("body \u001b[2J\u009b\u202e\u2028\ufeff", "reason \u001b]0;owned\u0007\u202e\u200f");
    const [{ id = "", reason = "" } = {}] = await listed();
    expect(reason).toBe("reason \u001b]0;owned\u0007\u202e\u200f");
    const { stdout, stderr } = await run(...words.replace("ID", id).split(" "));
    expect(stdout + stderr).toMatch(/reason|nowhere/);
    expect(stdout + stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  },
);

test("rejected list shows what can be read of the events and why they were rejected, and leaves them there", async () => {
  await put('{"id":"x","type":"RiskCreated","organizationId":"acme"}');
  await put("not JSON\u001b[31m", "the body is not valid JSON");
  const { code, stdout, stderr } = await run("list");
  expect(code).toBe(0);
  expect(stderr).toBe("2 rejected events.\n");
  const lines = stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(3);
  expect(lines[1]).toMatch(/^[0-9a-f]{12} +\d+ +RiskCreated +acme +\/id must match format$/);
  expect(lines[2]).toContain("the body is not valid JSON");
  expect(stdout).not.toContain("\u001b");
  await expectDepth(rejectedQueue, 2);
  expect((await run("list", "--limit", "1")).stderr).toContain("1 more");
  // The broker may give them back in another order.
  const [broken, whole] = (await listed()).sort((a, b) => Number(a.bytes) - Number(b.bytes));
  expect(whole).toMatchObject({ eventId: "x", type: "RiskCreated", organizationId: "acme" });
  expect(broken).toMatchObject({ eventId: null, type: null, reason: "the body is not valid JSON" });
});

test("rejected list of an empty queue is empty", async () => {
  expect(await run("list")).toEqual({ code: 0, stdout: "", stderr: "0 rejected events.\n" });
});

test("rejected show prints everything about one event, or its bytes alone", async () => {
  await put('{"type":"RiskCreated"}', "the reason", { traceparent: "00-t" });
  await put("other");
  const id = (await listed())[0]?.id ?? "";
  const { code, stdout } = await run("show", id.slice(0, 6));
  expect(code).toBe(0);
  expect(stdout).toContain("the reason");
  expect(stdout).toContain('{"traceparent":"00-t"}');
  expect(stdout).toContain('{"type":"RiskCreated"}');
  expect((await run("show", id, "--body")).stdout).toBe('{"type":"RiskCreated"}');
  expect(await run("show", "ffff0000ffff")).toMatchObject({ code: 1, stdout: "" });
  await expectDepth(rejectedQueue, 2);
});

test("rejected replay puts the named event back into the inbox as it first came, and leaves the others", async () => {
  await put("one", "r", { traceparent: "00-t", "x-death": [], "x-first-death-reason": "delivery_limit" });
  await put("two");
  const id = (await listed()).find(({ reason }) => reason === "r")?.id ?? "";
  expect(await run("replay", id)).toMatchObject({ code: 0, stdout: "Replayed 1 event.\n" });
  await expectDepth(rejectedQueue, 1);
  await expectDepth(inboxQueue, 1);
  const replayed = await channel.get(inboxQueue, { noAck: true });
  if (replayed === false) throw new Error("The inbox is empty.");
  expect(replayed.content.toString()).toBe("one");
  const { "x-delivery-count": _deliveryCount, ...headers } = replayed.properties.headers ?? {};
  expect(headers).toEqual({ traceparent: "00-t" });
  expect(replayed.properties).toMatchObject({ deliveryMode: 2, contentType: "application/json" });
});

test("rejected replay puts back all events that were there, with --all", async () => {
  for (let index = 0; index < 30; index++) await put(`event ${index}`);
  expect(await runHerald(["rejected", "replay", "--all"], settings())).toEqual({
    code: 0,
    stdout: "Replayed 30 events.\n",
    stderr: "",
    audit: expect.objectContaining({ action: "rejected replay", what: ["--all"], details: { replayed: 30 } }),
  });
  await expectDepth(rejectedQueue, 0);
  const depths = await Promise.all(inboxQueues.map((queue) => channel.checkQueue(queue)));
  expect(depths.reduce((sum, { messageCount }) => sum + messageCount, 0)).toBe(30);
  expect(Math.max(...depths.map(({ messageCount }) => messageCount))).toBeLessThan(10);
});

test.each([
  ["an event", { type: "order.paid", organizationId: "acme" }, "order-paid.8.2"],
  ["an event without a type", { organizationId: "acme" }, "unreadable.8.2"],
  ["an event of a type that no key has room for", { type: "x".repeat(252), organizationId: "acme" }, "unreadable.8.2"],
])(
  "regression: rejected replay gives %s its emitter's routing key, so that many are a flood that goes to the second queue",
  async (_what, content, key) => {
    await put(JSON.stringify(content));
    expect(await run("replay", "--all")).toMatchObject({ code: 0 });
    const message = await channel.get(inboxQueues[8] as string, { noAck: true });
    expect(message ? message.fields : {}).toMatchObject({ exchange: eventsExchange, routingKey: key });
  },
);

test("rejected replay does nothing if one of the ids is unknown", async () => {
  await put("one");
  const [{ id } = { id: "" }] = await listed();
  expect(await run("replay", id, "ffff0000ffff")).toMatchObject({ code: 1, stdout: "" });
  await expectDepth(rejectedQueue, 1);
  await expectDepth(inboxQueue, 0);
});

test("rejected replay loses nothing if the inbox is missing", async () => {
  await put("one");
  await put("one");
  await channel.deleteQueue(inboxQueue);
  const { code, stderr } = await run("replay", "--all");
  expect(code).toBe(1);
  expect(stderr).toContain("No inbox queue takes message 7692c3ad3540; it stays where it was.");
  await expectDepth(rejectedQueue, 2);
  await declareTopology(channel, broker.namespace);
});

test("rejected discard takes out the named events, equal ones together", async () => {
  await put("twice");
  await put("twice");
  await put("once");
  const id = (await listed()).find(({ bytes }) => bytes === 5)?.id ?? "";
  expect(await run("discard", id)).toMatchObject({ code: 0, stdout: "Discarded 2 events.\n" });
  await expectDepth(rejectedQueue, 1);
});

test("rejected list says which queue is missing if a broker has no queues of Herald", async () => {
  const { code, stderr } = await callHerald(["rejected", "list"], {
    AMQP_URL: broker.url,
    BROKER_NAMESPACE: "missing",
  });
  expect(code).toBe(1);
  expect(stderr).toContain("missing.events.rejected");
});
