import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { projectFolder } from "@herald/dev/stack/folders";

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
