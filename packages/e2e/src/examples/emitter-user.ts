import { randomUUID } from "node:crypto";

/** A user of the broker with the rights of an emitter: it writes to exchanges of events, and may do nothing else. */
export interface EmitterUser {
  /** The broker, with the user's name and password. */
  url: string;
  remove(): Promise<void>;
}

/** Everything that an emitter may do: what deploy/rabbitmq/rights.json gives, for any namespace. */
const RIGHTS = { configure: "^$", write: "^[^.]+\\.events$", read: "^$" };

/**
 * Makes a user for an emitter in the virtual host of a broker's URL.
 *
 * @param managementUrl the broker's management API with an administrator's credentials, since AMQP can't make users
 */
export async function makeEmitterUser(brokerUrl: string, managementUrl: string | undefined): Promise<EmitterUser> {
  if (managementUrl === undefined) {
    throw new Error("Beside AMQP_URL, set AMQP_MANAGEMENT_URL to the broker's management API, or unset AMQP_URL.");
  }
  const url = new URL(brokerUrl);
  const virtualHost = url.pathname.length > 1 ? url.pathname.slice(1) : "%2F";
  url.username = `emitter-${randomUUID()}`;
  url.password = randomUUID();
  await call(managementUrl, "PUT", `/api/users/${url.username}`, { password: url.password, tags: "" });
  await call(managementUrl, "PUT", `/api/permissions/${virtualHost}/${url.username}`, RIGHTS);
  return { url: url.href, remove: () => call(managementUrl, "DELETE", `/api/users/${url.username}`) };
}

async function call(managementUrl: string, method: string, path: string, body?: object): Promise<void> {
  const { origin, username, password } = new URL(managementUrl);
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(credentials).toString("base64")}`,
      connection: "close",
      ...(body && { "content-type": "application/json" }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const what = `${method} ${path}`;
  if (!response.ok) throw new Error(`RabbitMQ answered ${response.status} to ${what}: ${await response.text()}`);
  await response.body?.cancel();
}
