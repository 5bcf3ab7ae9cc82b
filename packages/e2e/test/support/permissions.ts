import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { projectFolder } from "@herald/dev/stack/folders";
import type { RabbitmqNode } from "@herald/dev/stack/rabbitmq-node";

/** What a user of RabbitMQ may configure, write to and read from, as regular expressions. */
export interface Permission {
  user: string;
  configure: string;
  write: string;
  read: string;
}

/**
 * The rights that deploy/docker/make-secrets.mjs gives.
 *
 * @param folder where it may write
 */
export async function readPermissions(folder: string): Promise<Permission[]> {
  const secrets = join(folder, "secrets");
  await promisify(execFile)(process.execPath, [join(projectFolder(), "deploy/docker/make-secrets.mjs"), secrets]);
  return JSON.parse(await readFile(join(secrets, "rabbitmq-definitions.json"), "utf8")).permissions;
}

export const USERS = ["api", "publisher", "dispatcher", "herald", "emitter", "product"] as const;
export type BrokerUser = (typeof USERS)[number];
export type Passwords = Readonly<Record<BrokerUser, string>>;

/** deploy/rabbitmq/definitions.json with these passwords. */
export function definitionsWith(passwords: Passwords): string {
  const text = readFileSync(join(projectFolder(), "deploy", "rabbitmq", "definitions.json"), "utf8");
  return USERS.reduce((filled, user) => filled.replace(`PASSWORD_OF_${user}`, passwords[user]), text);
}

/** Makes the virtual host `herald` and its users on a node, in the ways of docs/operating/rabbitmq.md. */
export const WAYS: Readonly<Record<string, (node: RabbitmqNode, passwords: Passwords) => Promise<void>>> = {
  "rabbitmqctl import_definitions": async (node, passwords) => {
    const folder = mkdtempSync(join(tmpdir(), "herald-definitions-"));
    try {
      writeFileSync(join(folder, "definitions.json"), definitionsWith(passwords));
      await node.control(["import_definitions", join(folder, "definitions.json")]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  "the management API": async (node, passwords) => {
    const { origin, username, password } = new URL(node.managementUrl as string);
    const headers = {
      authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`,
      "content-type": "application/json",
    };
    const response = await fetch(`${origin}/api/definitions`, {
      method: "POST",
      headers,
      body: definitionsWith(passwords),
    });
    if (!response.ok) throw new Error(`RabbitMQ answered ${response.status}: ${await response.text()}`);
  },
};
