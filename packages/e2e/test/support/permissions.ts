import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { projectFolder } from "@herald/dev/stack/folders";
import type { RabbitmqNode } from "@herald/dev/stack/rabbitmq-node";

/** The rights of a user of RabbitMQ to configure, to write and to read, as regular expressions. */
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

/** Makes the virtual host `herald` and its users on a node, as docs/operating/rabbitmq.md says. */
export async function importDefinitions(node: RabbitmqNode, passwords: Passwords): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "herald-definitions-"));
  try {
    writeFileSync(join(folder, "definitions.json"), definitionsWith(passwords));
    await node.control(["import_definitions", join(folder, "definitions.json")]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
