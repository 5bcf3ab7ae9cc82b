import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@herald/testkit/harness/eventually";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/testkit/harness/stack-client";
import { projectFolder } from "@herald/testkit/stack/folders";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/testkit/stack/rabbitmq-node";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { only, useRightSetUp } from "./right-set-up.ts";

const { broker, caFile, complaints, onBroker } = useRightSetUp();

const nodeFolder = mkdtempSync(join(tmpdir(), "herald-doctor-broker-"));
/** A node whose users and limits a test may change. Its limits are RabbitMQ's own. */
let node: RabbitmqNode;
beforeAll(async () => {
  const { executable } = await askForRabbitmqServer();
  node = await startRabbitmqNode(executable, {
    folder: nodeFolder,
    pidFolder: join(nodeFolder, "pids"),
    disposable: true,
    configuration: ["max_message_size = 134217728", "frame_max = 131072"],
  });
}, STACK_TIMEOUT_MS);
afterAll(async () => {
  await node?.stop();
  rmSync(nodeFolder, { recursive: true, force: true });
}, STACK_TIMEOUT_MS);

/** What deploy/rabbitmq gives the services' user. */
function rightsOfHerald(): { configure: string; write: string; read: string } {
  const text = readFileSync(join(projectFolder(), "deploy", "rabbitmq", "rights.json"), "utf8");
  return JSON.parse(text).find(({ user }: { user: string }) => user === "herald");
}

const changedUrl = (url: string, change: Partial<URL>) => Object.assign(new URL(url), change).href;

test("the doctor finds that nothing listens there", async () => {
  const found = await complaints({ settings: { AMQP_URL: "amqp://herald:do-not-show@127.0.0.1:1" } });
  expect(found).toEqual(only("fault", "RabbitMQ", /Nothing listens at 127\.0\.0\.1:1/, /port in AMQP_URL/));
});

test("the doctor finds a wrong password", async () => {
  const found = await complaints({ settings: { AMQP_URL: changedUrl(broker.url, { password: "do-not-show" }) } });
  expect(found).toEqual(only("fault", "RabbitMQ", /refuses this user/, /user and password in AMQP_URL/));
});

test("the doctor finds a virtual host that does not exist", async () => {
  const found = await complaints({ settings: { AMQP_URL: changedUrl(node.url, { pathname: "/nowhere" }) } });
  expect(found).toEqual(only("fault", "RabbitMQ", /refuses the virtual host/, /virtual host in AMQP_URL/));
});

test("the doctor finds that AMQP_CA_FILE is set and AMQP_URL asks for no TLS", async () => {
  const found = await complaints({ settings: { AMQP_CA_FILE: caFile } });
  expect(found).toEqual(only("fault", "settings", /AMQP_URL asks for no TLS. Write amqps/, /do not start/));
});

test("the doctor finds each right that the broker's user lacks", async () => {
  await node.control(["add_user", "weak", "do-not-show"]);
  const url = changedUrl(node.url, { username: "weak", password: "do-not-show" });
  const { configure, write, read } = rightsOfHerald();
  const all = [configure, write, read] as const;
  for (const [rights, lacked] of [
    [["^$", all[1], all[2]], /lacks the right to configure/],
    [[all[0], "^herald\\.", all[2]], /lacks the right to write to the default exchange/],
    [[all[0], all[1], "^$"], /lacks the right to read,/],
  ] as const) {
    await node.control(["set_permissions", "weak", ...rights]);
    const found = await complaints({ settings: { AMQP_URL: url, BROKER_NAMESPACE: "herald" } });
    const [first] = only("fault", "broker user's rights", lacked, /rabbitmqctl set_permissions/);
    expect(found).toContainEqual(first);
    expect(found.find(({ check }) => check === "broker user's rights")?.remedy).toContain(
      all.map((right) => `'${right}'`).join(" "),
    );
  }
  await node.control(["set_permissions", "weak", ...all]);
  const found = await complaints({ settings: { AMQP_URL: url, BROKER_NAMESPACE: "herald" } });
  expect(found.filter(({ status }) => status === "fault")).toEqual([]);
});

test.each([
  ["management-api", /may not write to \S+\.requests/, /may write to the default exchange, which it never does/],
  ["publisher", /may not write to \S+\.dispatch/, /may write to \S+\.requests, which it never does/],
  ["dispatcher", /may not write to the default exchange/, /may write to \S+\.requests, which it never does/],
] as const)(
  "the doctor finds what the broker user of a %s lacks, and what it has too much",
  async (service, lacked, tooMuch) => {
    const rightsFound = async (url: string) => {
      const found = await complaints({ settings: { AMQP_URL: url }, args: ["--service", service] });
      return found.filter(({ check }) => check.startsWith("broker") || check === "queues and exchanges");
    };
    expect(await rightsFound(broker.serviceUrls[service])).toEqual([]);
    const user = `weak-${service}`;
    await node.control(["add_user", user, "do-not-show"]);
    await node.control(["set_permissions", user, ".*", "^none$", ".*"]);
    const url = changedUrl(node.url, { username: user, password: "do-not-show" });
    expect(await rightsFound(url)).toContainEqual(only("fault", "broker user's rights", lacked, /rights\.json/)[0]);
    expect(await rightsFound(node.url)).toContainEqual(
      only("warning", "broker user's rights", tooMuch, /rights\.json/)[0],
    );
  },
);

test("the doctor warns of limits that are wider than Herald's", async () => {
  const found = await complaints({ settings: { AMQP_URL: node.url } });
  expect(found).toMatchObject([
    { status: "warning", check: "broker's limits", remedy: expect.stringMatching(/max_message_size = 1048576/) },
    { status: "warning", check: "broker's limits", remedy: expect.stringMatching(/frame_max = 16384/) },
  ]);
});

test("the doctor finds that the broker takes no messages", async () => {
  await node.control(["set_vm_memory_high_watermark", "absolute", "1MB"]);
  await eventually(async () => expect(await node.control(["eval", "rabbit_alarm:get_alarms()."])).toContain("memory"));
  const found = await complaints({ settings: { AMQP_URL: node.url, BROKER_NAMESPACE: "alarmed" } });
  await node.control(["set_vm_memory_high_watermark", "0.4"]);
  expect(found).toEqual(only("fault", "RabbitMQ", /memory or disk alarm/, /rabbitmq-diagnostics alarms/));
});

test("the doctor finds a queue that is another one than Herald declares", async () => {
  const namespace = `${broker.namespace}.other`;
  const queue = `${namespace}.events.inbox.3`;
  await onBroker((channel) => channel.assertQueue(queue, { durable: true }));
  const found = await complaints({ settings: { BROKER_NAMESPACE: namespace } });
  expect(found).toEqual(
    only("fault", "queues and exchanges", /inbox\.3 is another one: .*Herald declares/, /delete_queue/),
  );
  expect(found[0]?.remedy).toContain(queue);
});

test("the doctor finds an exchange of another type", async () => {
  const namespace = `${broker.namespace}.direct`;
  await onBroker((channel) => channel.assertExchange(`${namespace}.events`, "direct"));
  const found = await complaints({ settings: { BROKER_NAMESPACE: namespace } });
  expect(found).toEqual(only("fault", "queues and exchanges", /type is 'direct'.*'topic'/, /Delete it/));
});

test("the doctor finds queues of an earlier Herald, and what waits in them", async () => {
  const namespace = `${broker.namespace}.old`;
  await onBroker(async (channel) => {
    await channel.assertQueue(`${namespace}.dispatch.first`);
    await channel.assertQueue(`${namespace}.events.inbox`);
    channel.sendToQueue(`${namespace}.events.inbox`, Buffer.from("an event"));
  });
  const found = await complaints({ settings: { BROKER_NAMESPACE: namespace } });
  expect(found).toMatchObject([
    { status: "fault", check: "leftovers", what: expect.stringMatching(/1 message waits.*events\.inbox/) },
    { status: "warning", check: "leftovers", remedy: expect.stringMatching(/delete_queue .*dispatch\.first/) },
  ]);
});
