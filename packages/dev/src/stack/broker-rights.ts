import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "./folders.ts";

/** A user of RabbitMQ, and what it may configure, write to and read from, as regular expressions. */
export interface BrokerRights {
  user: string;
  configure: string;
  write: string;
  read: string;
}

/** The services, and the broker user that each has. */
export const BROKER_USERS = { "management-api": "api", publisher: "publisher", dispatcher: "dispatcher" } as const;
export type BrokerUrls = Readonly<Record<keyof typeof BROKER_USERS, string>>;

/** The rights that deploy/rabbitmq/definitions.json gives the services' users, for a Herald whose names begin with this namespace. */
export function serviceRights(namespace = "herald"): BrokerRights[] {
  const text = readFileSync(join(projectFolder(), "deploy", "rabbitmq", "definitions.json"), "utf8");
  const escaped = namespace.replaceAll(".", "\\.");
  const here = (pattern: string) => pattern.replaceAll("herald\\.", `${escaped}\\.`);
  const users: readonly string[] = Object.values(BROKER_USERS);
  return (JSON.parse(text) as { permissions: BrokerRights[] }).permissions
    .filter(({ user }) => users.includes(user))
    .map(({ user, configure, write, read }) => ({
      ...{ user, configure: here(configure), write: here(write), read: here(read) },
    }));
}

/** A URL for each service: of the user that `userOf` calls so, whose password is its name. */
export function serviceUrls(url: string, userOf: (user: string) => string = (user) => user): BrokerUrls {
  const urlOf = (user: string) => Object.assign(new URL(url), { username: userOf(user), password: userOf(user) }).href;
  const { "management-api": api, publisher, dispatcher } = BROKER_USERS;
  return { "management-api": urlOf(api), publisher: urlOf(publisher), dispatcher: urlOf(dispatcher) };
}

/** The definitions that a broker on the loopback loads when it starts: its `guest`, and a user for each service, whose password is its name. */
export function developmentDefinitions(namespace: string): string {
  const rights = [{ user: "guest", configure: ".*", write: ".*", read: ".*" }, ...serviceRights(namespace)];
  return JSON.stringify({
    vhosts: [{ name: "/" }],
    users: rights.map(({ user }) => ({
      name: user,
      password_hash: passwordHash(user),
      hashing_algorithm: "rabbit_password_hashing_sha256",
      tags: user === "guest" ? ["administrator"] : [],
    })),
    permissions: rights.map((each) => ({ vhost: "/", ...each })),
  });
}

/** As `rabbitmqctl hash_password` makes it, which RabbitMQ 3.10 does not have. */
export function passwordHash(password: string): string {
  const salt = randomBytes(4);
  const digest = createHash("sha256").update(salt).update(password).digest();
  return Buffer.concat([salt, digest]).toString("base64");
}
