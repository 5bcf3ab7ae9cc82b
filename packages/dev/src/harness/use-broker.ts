import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll } from "@jest/globals";
import { BROKER_USERS, serviceRights, serviceUrls } from "../stack/broker-rights.ts";
import { type RabbitmqNode, startRabbitmqNode } from "../stack/rabbitmq-node.ts";
import { askForRabbitmq, askForRabbitmqServer, STACK_TIMEOUT_MS } from "./stack-client.ts";

type ConnectionRow = { name: string; client_properties?: { connection_name?: string } };

/** Makes a virtual host, and a user who may do everything in it, through RabbitMQ's management API: AMQP itself can't. */
async function makeVirtualHost(amqpUrl: string, managementUrl: string, name: string) {
  const api = new URL(managementUrl);
  await call(api, "PUT", `/api/vhosts/${name}`, {});
  await call(api, "PUT", `/api/users/${name}`, { password: name, tags: "" });
  await call(api, "PUT", `/api/permissions/${name}/${name}`, { configure: ".*", write: ".*", read: ".*" });
  for (const { user, ...rights } of serviceRights(name)) {
    const own = userIn(name)(user);
    await call(api, "PUT", `/api/users/${own}`, { password: own, tags: "" });
    await call(api, "PUT", `/api/permissions/${name}/${own}`, rights);
  }
  return virtualHost(api, amqpUrl, name);
}

/** The users of a virtual host are the server's too, so they bear its name. */
const userIn = (host: string) => (user: string) => `${host}-${user}`;

function virtualHost(api: URL, amqpUrl: string, name: string) {
  const url = new URL(amqpUrl);
  url.pathname = `/${name}`;
  url.username = name;
  url.password = name;
  // The host has a user of its own too: connections of a user are known at once, those of a host, with the names that
  // their clients gave them, seconds later.
  const users = [name, ...Object.values(BROKER_USERS).map(userIn(name))];
  const countConnections = async () => {
    const counts = users.map((user) => call(api, "GET", `/api/connections/username/${user}`));
    return (await Promise.all(counts)).flat().length;
  };
  const names = async () => {
    const rows = (await call(api, "GET", `/api/vhosts/${name}/connections`)) as ConnectionRow[];
    return rows.map((row) => row.client_properties?.connection_name ?? row.name);
  };
  return {
    url: url.href,
    serviceUrls: serviceUrls(url.href, userIn(name)),
    countConnections,
    /** Waits until no connection is open, for a limited time; returns the names of those that are still open. */
    openConnections: async () => {
      const deadline = Date.now() + 6_000;
      while (Date.now() < deadline) {
        if ((await countConnections()) === 0) return [];
        await sleep(50);
      }
      return await names();
    },
    closeConnections: async () => {
      await Promise.all(users.map((user) => call(api, "DELETE", `/api/connections/username/${user}`)));
    },
    remove: async () => {
      await call(api, "DELETE", `/api/vhosts/${name}`);
      for (const user of users) await call(api, "DELETE", `/api/users/${user}`);
    },
  };
}

async function call(api: URL, method: string, path: string, body?: object): Promise<unknown> {
  const auth = `${decodeURIComponent(api.username)}:${decodeURIComponent(api.password)}`;
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(new URL(path, api.origin), { method, auth, headers, agent: false }, resolve);
    sent.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
  const said = await text(response);
  const status = response.statusCode ?? 0;
  // The connection may have ended before it could be closed, which is fine.
  if (status >= 400 && !(method === "DELETE" && status === 404))
    throw new Error(`RabbitMQ's management API answered ${status} to ${method} ${path}: ${said}`);
  return said === "" ? undefined : JSON.parse(said);
}

export function serviceEnvironment(
  databaseUrl: string,
  { url, namespace }: { url: string; namespace: string },
): Record<string, string> {
  return {
    HERALD_ENV: "development",
    DATABASE_URL: databaseUrl,
    AMQP_URL: url,
    BROKER_NAMESPACE: namespace,
    HTTP_HOST: "127.0.0.1",
    OPERATIONS_PORT: "0",
    LOG_LEVEL: "error",
  };
}

export interface TestBrokerOptions {
  /** A RabbitMQ node that only this test file uses, configured as in production, also where AMQP_URL names a broker. */
  ownNode?: boolean;
}

/**
 * Gives a test file a virtual host of its own on a real RabbitMQ. Call it at the top of the file or of a `describe`; its fields
 * may be read in hooks and tests.
 *
 * Afterwards it deletes all exchanges and queues and fails where connections were left open.
 */
export function useBroker({ ownNode = false }: TestBrokerOptions = {}) {
  const namespace = `test-${randomBytes(6).toString("hex")}`;
  const folder = join(tmpdir(), `herald-${namespace}`);
  let node: RabbitmqNode | undefined;
  let environment: ReturnType<typeof virtualHost> | undefined;

  async function startNode(): Promise<RabbitmqNode> {
    const { executable } = await askForRabbitmqServer();
    return await startRabbitmqNode(executable, { folder, management: true });
  }

  beforeAll(async () => {
    if (ownNode) node = await startNode();
    const { url, managementUrl } = node ?? (await askForRabbitmq());
    if (managementUrl === undefined)
      throw new Error(
        "Beside AMQP_URL, set AMQP_MANAGEMENT_URL to the broker's management API, with an administrator's name and password.",
      );
    environment = await makeVirtualHost(url, managementUrl, namespace);
  }, STACK_TIMEOUT_MS);

  afterAll(async () => {
    const left = (await environment?.openConnections()) ?? [];
    await environment?.remove();
    await node?.stop();
    rmSync(folder, { recursive: true, force: true });
    if (left.length > 0) {
      throw new Error(`${left.length} connections to RabbitMQ were left open: ${left.join(", ")}. Close them.`);
    }
  }, STACK_TIMEOUT_MS);

  const ready = () => {
    if (environment === undefined)
      throw new Error("The broker exists from beforeAll on, not while the file is loaded.");
    return environment;
  };
  return {
    get url() {
      return ready().url;
    },
    /** The URL of the broker for each service, with the user that it has in production. */
    get serviceUrls() {
      return ready().serviceUrls;
    },
    /** Random; the names of this file's exchanges and queues start with it. */
    namespace,
    countConnections: () => ready().countConnections(),
    /** Makes the broker close every connection, as a restart of it would look to its clients. */
    closeConnections: () => ready().closeConnections(),
  };
}
