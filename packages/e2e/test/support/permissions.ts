import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { passwordHash } from "@herald/dev/stack/broker-rights";
import { projectFolder } from "@herald/dev/stack/folders";
import { runProgram } from "@herald/dev/stack/programs";
import type { RabbitmqNode } from "@herald/dev/stack/rabbitmq-node";
import { parseAllDocuments } from "yaml";

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

const folder = join(projectFolder(), "deploy", "rabbitmq");

/** Makes the virtual host `herald` and its users on a node, by each of the files of deploy/rabbitmq. */
export const WAYS: Readonly<Record<string, (node: RabbitmqNode, passwords: Passwords) => Promise<void>>> = {
  "definitions.json": async (node, passwords) => {
    let text = readFileSync(join(folder, "definitions.json"), "utf8");
    for (const user of USERS) text = text.replace(`${user.toUpperCase()}_PASSWORD_HASH`, passwordHash(passwords[user]));
    const draft = mkdtempSync(join(tmpdir(), "herald-definitions-"));
    try {
      writeFileSync(join(draft, "definitions.json"), text);
      await node.control(["import_definitions", join(draft, "definitions.json")]);
    } finally {
      rmSync(draft, { recursive: true });
    }
  },
  "management-api.sh": async (node, passwords) => {
    const { origin, username, password } = new URL(node.managementUrl as string);
    const env: NodeJS.ProcessEnv = { PATH: process.env.PATH, BROKER: origin, ADMIN_LOGIN: `${username}:${password}` };
    for (const user of USERS) env[`${user.toUpperCase()}_PASSWORD`] = passwords[user];
    // Twice: a second run must do no harm.
    for (const what of ["management-api.sh", "management-api.sh, again"]) {
      await runProgram("sh", [join(folder, "management-api.sh")], { what, env });
    }
  },
  // What the operator does with its resources, without a cluster.
  "topology-operator.yaml": async (node, passwords) => {
    const text = readFileSync(join(folder, "topology-operator.yaml"), "utf8");
    const resources = parseAllDocuments(text).map((document) => document.toJS() as Resource);
    const userOf = (name: string) =>
      resources.find(({ kind, metadata }) => kind === "User" && metadata.name === name)?.spec.importCredentialsSecret
        ?.name ?? "";
    for (const { kind, metadata, spec } of resources) {
      // The Secret is called after the user.
      if (kind === "Vhost") await node.control(["add_vhost", spec.name ?? ""]);
      if (kind === "User") {
        const user = userOf(metadata.name).replace("herald-broker-", "") as BrokerUser;
        await node.control(["add_user", user, passwords[user]]);
      }
      if (kind === "Permission") {
        const user = userOf(spec.userReference?.name ?? "").replace("herald-broker-", "");
        const { configure = "", write = "", read = "" } = spec.permissions ?? {};
        await node.control(["set_permissions", "--vhost", spec.vhost ?? "", user, configure, write, read]);
      }
    }
  },
};

interface Resource {
  kind: string;
  metadata: { name: string };
  spec: {
    name?: string;
    vhost?: string;
    importCredentialsSecret?: { name: string };
    userReference?: { name: string };
    permissions?: { configure?: string; write?: string; read?: string };
  };
}
