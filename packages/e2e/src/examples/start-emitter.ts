import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

/** A user of the broker with the rights of an emitter: it writes to exchanges of events, and may do nothing else. */
export interface EmitterUser {
  /** The broker, with the user's name and password. */
  url: string;
  remove(): Promise<void>;
}

/** Everything that an emitter may do: what deploy/rabbitmq/definitions.json gives, for any namespace. */
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

/** An emitter of the examples that runs. */
export interface RunningEmitter {
  /** Has it emit that a work item was completed. Resolves with what it says of it. One at a time. */
  emit(workItemId: string): Promise<string>;
  /** Ends its input. Resolves with its exit code. */
  end(): Promise<number | null>;
  /** Ends it at once, if it still runs. */
  kill(): Promise<void>;
}

/** Starts an emitter, with settings in its environment. */
export function startEmitter(
  [program = "", ...args]: readonly string[],
  settings: Record<string, string>,
): RunningEmitter {
  const child = spawn(program, args, { env: { ...process.env, ...settings } });
  let waiting: { resolve(line: string): void; reject(error: Error): void } | undefined;
  let errors = "";
  let failure: Error | undefined;
  createInterface({ input: child.stdout }).on("line", (line) => {
    waiting?.resolve(line);
    waiting = undefined;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors = (errors + chunk).slice(-2000);
  });
  child.stdin.on("error", () => {});
  const ended = new Promise<number | null>((resolve) => {
    child.once("error", (error) => {
      failure = error;
      resolve(null);
    });
    child.once("close", resolve);
  }).then((code) => {
    failure ??= new Error(`${program} ended with ${code}:\n${errors}`);
    waiting?.reject(failure);
    return code;
  });
  return {
    emit: (workItemId) =>
      new Promise((resolve, reject) => {
        if (failure) return reject(failure);
        waiting = { resolve, reject };
        child.stdin.write(`${workItemId}\n`);
      }),
    end: () => {
      child.stdin.end();
      return ended;
    },
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
