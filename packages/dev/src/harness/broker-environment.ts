import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { BROKER_USERS, type BrokerUrls, serviceRights, serviceUrls } from "../stack/broker-rights.ts";

/** Where the exchanges and queues of a test file are. */
export interface BrokerEnvironment {
  url: string;
  /** The URL of each service's own user, as in production. */
  serviceUrls: BrokerUrls;
  /** How many connections are open now. */
  countConnections(): Promise<number>;
  /** Waits until no connection is open, for a limited time; returns the names of those that are still open. */
  openConnections(): Promise<string[]>;
  closeConnections(): Promise<void>;
  remove(): Promise<void>;
}

interface ConnectionRow {
  name: string;
  client_properties?: { connection_name?: string };
}

/**
 * Makes a virtual host, and a user who may do everything in it, through RabbitMQ's management API: AMQP itself can't.
 *
 * @param amqpUrl of the broker
 * @param managementUrl of its management API, with credentials
 */
export async function makeVirtualHost(
  amqpUrl: string,
  managementUrl: string,
  name: string,
): Promise<BrokerEnvironment> {
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

function virtualHost(api: URL, amqpUrl: string, name: string): BrokerEnvironment {
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

function call(api: URL, method: string, path: string, body?: object): Promise<unknown> {
  const auth = `${decodeURIComponent(api.username)}:${decodeURIComponent(api.password)}`;
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, api.origin), { method, auth, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => {
        const status = response.statusCode ?? 0;
        // The connection may have ended before it could be closed, which is fine.
        if (status >= 400 && !(method === "DELETE" && status === 404)) {
          reject(new Error(`RabbitMQ's management API answered ${status} to ${method} ${path}: ${text}`));
        } else {
          resolve(text === "" ? undefined : JSON.parse(text));
        }
      });
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
