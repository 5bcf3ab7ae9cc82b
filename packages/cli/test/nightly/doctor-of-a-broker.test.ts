import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { declareTopology } from "@herald/common/broker/topology";
import { eventually } from "@herald/dev/harness/eventually";
import { askForRabbitmqServer, STACK_TIMEOUT_MS } from "@herald/dev/harness/stack-client";
import { projectFolder } from "@herald/dev/stack/folders";
import { type RabbitmqNode, startRabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Channel, connect } from "amqplib";
import { commandsOf, inWords, only, useRightSetUp } from "../doctor/right-set-up.ts";
import { callHerald } from "../run-herald.ts";

const folder = mkdtempSync(join(tmpdir(), "herald-doctor-broker-"));
/** A node whose users, limits and policies a test may change. */
let node: RabbitmqNode;
let starting: Promise<RabbitmqNode>;
// It starts while the set-up does.
beforeAll(() => {
  starting = askForRabbitmqServer().then(({ executable }) =>
    startRabbitmqNode(executable, { folder, disposable: true }),
  );
});
const { complaints, complaintsOf } = useRightSetUp();
beforeAll(async () => {
  node = await starting;
}, STACK_TIMEOUT_MS);
afterAll(async () => {
  await node?.stop();
  rmSync(folder, { recursive: true, force: true });
}, STACK_TIMEOUT_MS);

const changedUrl = (url: string, change: Partial<URL>) => Object.assign(new URL(url), change).href;

const [configure = "", write = "", read = ""] = rightsOf("herald");

interface VirtualHost {
  rights?: [configure: string, write: string, read: string];
  policy?: object;
  limits?: object;
  /** Makes queues and bindings in it. */
  make?: (channel: Channel) => Promise<unknown>;
}

const inProbe = (what: RegExp, remedy: RegExp) =>
  new RegExp(`^fault, rights and policies: .*${what.source}.* -> .*${remedy.source}`);

/** A fault of a virtual host of the row's own, and the doctor's words. */
const BROKER_FAULTS: [name: string, done: VirtualHost, words: RegExp][] = [
  [
    "no-configure",
    { rights: ["^$", write, read] },
    inProbe(/lacks the right to configure/, /rabbitmqctl set_permissions/),
  ],
  [
    "no-write",
    { rights: [configure, "^herald\\.", read] },
    inProbe(/lacks the right to write to the default exchange/, /set_permissions/),
  ],
  [
    "no-read",
    { rights: [configure, write, "^amq\\.rabbitmq"] },
    inProbe(/lacks the right to read,/, /set_permissions/),
  ],
  [
    "write-nothing",
    { rights: [configure, "^$", read] },
    inProbe(/lacks the right to write to the default exchange/, /set_permissions/),
  ],
  [
    "message-ttl",
    { policy: { "message-ttl": 100 } },
    inProbe(/policy loses messages: of 503 .* 0 were there/, /list_policies.*message-ttl/),
  ],
  [
    "max-length",
    { policy: { "max-length": 400 } },
    inProbe(/policy loses messages: of 503 .* 400 were there/, /max-length/),
  ],
  [
    "reject-publish",
    { policy: { "max-length": 1, overflow: "reject-publish" } },
    inProbe(/policy loses messages: the broker refused one/, /list_policies/),
  ],
  [
    "max-queues",
    { limits: { "max-queues": 0 } },
    inProbe(/virtual host max-queues may have no more queues/, /clear_vhost_limits.*max-queues/),
  ],
  [
    "max-connections",
    { limits: { "max-connections": 0 } },
    /^fault, RabbitMQ: .*or a limit of connections is reached.* -> .*list_vhost_limits --vhost max-connections/,
  ],
  [
    "unbound",
    {
      make: async (channel) => {
        await declareTopology(channel, "herald");
        await channel.unbindQueue("herald.events.inbox.3", "herald.events.inbox", "*.3.#");
      },
    },
    /^fault, inbox: No event reaches the queue herald\.events\.inbox\.3: .* -> Restart the publishers/,
  ],
  [
    "other-arguments",
    {
      make: async (channel) => {
        await declareTopology(channel, "herald");
        await channel.deleteQueue("herald.events.inbox.3");
        await channel.assertQueue("herald.events.inbox.3", { arguments: { "x-queue-type": "quorum" } });
        await channel.bindQueue("herald.events.inbox.3", "herald.events.inbox", "*.3.#");
      },
    },
    /^fault, declarations: Herald can't declare .*inequivalent arg .*herald\.events\.inbox\.3.* -> .*delete_queue --vhost other-arguments/,
  ],
  [
    "no-exchange",
    {
      make: async (channel) => {
        await declareTopology(channel, "herald");
        await channel.deleteExchange("herald.events");
      },
    },
    /^fault, inbox: .*the exchange herald\.events is missing.* -> Restart the publishers/,
  ],
];

/** Its names are not those that the rights of the virtual host without a fault are for. */
const MISSPELT = [
  "a misspelt namespace, as a right that lacks",
  inProbe(/begins with "harald\."/, /set_permissions/),
] as const;

const LIKE_DEFINITIONS = / -> .*definitions\.json/;
/** What the doctor says to a service's own user in a virtual host that another service's start has filled. */
const SERVICE_FAULTS = [
  ["management-api", "no-write-of-services", /^fault, rights and policies: .* may not write to herald\.requests/],
  ["publisher", "no-write-of-services", /^fault, rights and policies: .* may not write to herald\.dispatch/],
  ["dispatcher", "no-write-of-services", /^fault, rights and policies: .* may not write to the default exchange/],
  ["management-api", "no-configure-of-services", /^fault, declarations: .* may not declare .*'herald\.requests'/],
  ["publisher", "no-configure-of-services", /^fault, declarations: .* may not declare .*'herald\.dispatch'/],
  ["dispatcher", "no-configure-of-services", /^fault, declarations: .* may not declare .*'herald\.requests'/],
  ["dispatcher", "no-configure-of-services", /^fault, rights and policies: .* may not declare, bind or read a queue/],
  ["publisher", "no-configure-of-services", /^fault, rights and policies: .* may not configure/],
  ["publisher", "no-read-of-services", /^fault, declarations: .* may not declare .*'herald\.events/],
  ["dispatcher", "no-read-of-services", /^fault, rights and policies: .* may not declare, bind or read a queue/],
] as const;
const OF_SERVICES: Readonly<Record<string, VirtualHost>> = {
  "no-write-of-services": { rights: [configure, "^$", read] },
  "no-configure-of-services": { rights: ["^$", write, read] },
  "no-read-of-services": { rights: [configure, write, "^$"] },
};

/** The user "weak" has the rights of Herald's in each virtual host, unless a row says otherwise. */
function definitions(): object {
  const ofServices = Object.entries(OF_SERVICES).map(([vhost, done]) => ({ vhost, done }));
  const vhosts = [...BROKER_FAULTS.map(([vhost, done]) => ({ vhost, done })), ...ofServices];
  return {
    users: [{ name: "weak", password: "do-not-show", tags: "" }],
    vhosts: ["right", ...vhosts.map(({ vhost }) => vhost)].map((name) => ({ name })),
    permissions: [{ vhost: "right", done: {} as VirtualHost }, ...vhosts].flatMap(({ vhost, done }) => [
      permission("weak", vhost, done.rights ?? [configure, write, read]),
      permission("guest", vhost, [".*", ".*", ".*"]),
    ]),
    policies: vhosts.flatMap(({ vhost, done: { policy } }) =>
      policy ? [{ vhost, name: "all", pattern: "^herald\\.", "apply-to": "all", priority: 0, definition: policy }] : [],
    ),
    parameters: vhosts.flatMap(({ vhost, done: { limits } }) =>
      limits ? [{ vhost, component: "vhost-limits", name: "limits", value: limits }] : [],
    ),
  };
}

function permission(user: string, vhost: string, [configure, write, read]: NonNullable<VirtualHost["rights"]>): object {
  return { user, vhost, configure, write, read };
}

describe("of a broker", () => {
  const urlOf = (vhost: string) =>
    changedUrl(node.url, { username: "weak", password: "do-not-show", pathname: `/${vhost}` });
  /** By the row's name. The rows share no virtual host, so the doctor looks at several at once. */
  const found = new Map<string, string[]>();
  /** The findings when the commands of the remedies have been run. */
  const left = new Map<string, string[]>();

  async function look(name: string, vhost: string, namespace = "herald"): Promise<void> {
    const settings = { AMQP_URL: urlOf(vhost), BROKER_NAMESPACE: namespace };
    // On a busy machine a server may answer too late for the doctor, which no row is about.
    const complain = () =>
      eventually(
        async () => {
          const said = await complaintsOf("RabbitMQ", { settings });
          expect(said.join("\n")).not.toMatch(/does not answer/);
          return said;
        },
        { timeoutMs: 120_000 },
      );
    const said = await complain();
    found.set(name, said);
    const commands = said.flatMap(commandsOf).filter(() => namespace === "herald");
    for (const command of commands) {
      const [, ...args] = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
      await node.control(args);
    }
    if (commands.length > 0) left.set(name, await complain());
  }

  async function lookAs(service: string, vhost: string): Promise<void> {
    const settings = { AMQP_URL: urlOf(vhost), BROKER_NAMESPACE: "herald" };
    found.set(`${service} ${vhost}`, (await complaints({ settings, args: ["--service", service] })).map(inWords));
  }

  beforeAll(async () => {
    const file = join(folder, "definitions.json");
    writeFileSync(file, JSON.stringify(definitions()));
    await node.control(["import_definitions", file]);
    const makes = BROKER_FAULTS.map(([vhost, { make }]) => ({ vhost, make }));
    for (const vhost of Object.keys(OF_SERVICES))
      makes.push({ vhost, make: (channel) => declareTopology(channel, "herald") });
    for (const { vhost, make } of makes) {
      if (make === undefined) continue;
      const connection = await connect(changedUrl(node.url, { pathname: `/${vhost}` }));
      await make(await connection.createChannel());
      await connection.close();
    }
    const looks = [["right"], ...BROKER_FAULTS];
    await Promise.all([
      ...Array.from({ length: 3 }, async () => {
        for (let next = looks.shift(); next; next = looks.shift()) await look(next[0] as string, next[0] as string);
      }),
      (async () => {
        await look(MISSPELT[0], "right", "harald");
        for (const vhost of Object.keys(OF_SERVICES))
          for (const service of ["management-api", "publisher", "dispatcher"]) await lookAs(service, vhost);
        await lookAs("publisher", "other-arguments");
        await lookAs("dispatcher", "other-arguments");
      })(),
    ]);
  }, STACK_TIMEOUT_MS);

  test("the doctor finds nothing wrong with a broker that has RabbitMQ's own limits", () => {
    expect(found.get("right")).toEqual([]);
  });

  test.each([...BROKER_FAULTS.map(([name, , words]) => [name, words] as const), MISSPELT])(
    "the doctor finds in RabbitMQ: %s",
    (name, words) => {
      expect(found.get(name)).toEqual(only(words));
    },
  );

  test("the doctor finds nothing when the commands of its remedies have been run", () => {
    expect([...left].filter(([, complaints]) => complaints.length > 0)).toEqual([]);
    expect([...left.keys()].sort()).toEqual(["max-queues", "no-configure", "no-read", "no-write", "write-nothing"]);
  });

  test.each(SERVICE_FAULTS)("the doctor finds what the broker user of a %s lacks: %s, %s", (service, vhost, lacked) => {
    const words = new RegExp(`${lacked.source}.*${LIKE_DEFINITIONS.source}`);
    expect(found.get(`${service} ${vhost}`)).toContainEqual(only(words)[0]);
  });

  test("the doctor finds a queue with other arguments for the service that declares it, and for no other one", () => {
    const words = /^fault, declarations: The publisher can't declare .*inequivalent arg .*herald\.events\.inbox\.3/;
    expect(found.get("publisher other-arguments")).toContainEqual(only(words)[0]);
    expect(found.get("dispatcher other-arguments")?.join()).not.toContain("declarations");
  });

  test("the doctor finds that the broker takes no messages, and a command that sends some says so and ends", async () => {
    const connection = await connect(node.url);
    const channel = await connection.createConfirmChannel();
    await declareTopology(channel, "alarmed");
    channel.sendToQueue("alarmed.events.rejected", Buffer.from("{}"));
    await channel.waitForConfirms();
    await connection.close();
    await node.control(["set_vm_memory_high_watermark", "absolute", "1MB"]);
    const settings = { AMQP_URL: node.url, BROKER_NAMESPACE: "alarmed" };
    // It looks at its memory now and then.
    await eventually(async () =>
      expect(await complaintsOf("RabbitMQ", { settings })).toEqual(
        only(/^fault, RabbitMQ: .*memory or disk alarm.* -> .*rabbitmq-diagnostics alarms/),
      ),
    );
    const { code, stderr } = await callHerald(["rejected", "replay", "--all"], { ...settings });
    expect([code, stderr]).toEqual([1, expect.stringContaining("RabbitMQ takes no messages")]);
  });
});

/** The rights that deploy/rabbitmq gives a user: to configure, to write and to read. */
function rightsOf(user: string): string[] {
  const text = readFileSync(join(projectFolder(), "deploy", "rabbitmq", "definitions.json"), "utf8");
  const { permissions } = JSON.parse(text) as {
    permissions: { user: string; configure: string; write: string; read: string }[];
  };
  return permissions
    .filter((each) => each.user === user)
    .flatMap(({ configure, write, read }) => [configure, write, read]);
}
