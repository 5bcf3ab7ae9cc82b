import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSealingKeys, readSecretKeys } from "@herald/common/security/sealing-keys";
import { localFolder } from "../stack/folders.ts";

/** The facts that `pnpm start` writes into a file for scripts, once everything is ready. */
export interface RunInfo {
  /** The base URL of the management API: routes are below `/api/organization/integration-operations`. */
  apiUrl: string;
  /** The admin page, by a link that signs in. */
  adminSignInUrl: string;
  /** A bearer token that may do everything in the organization. */
  token: string;
  organizationId: string;
  amqpUrl: string;
  databaseUrl: string;
  /** The demo receiver, as an endpoint's URL. */
  receiverUrl: string;
  /** Where each service serves /healthz, /readyz and /metrics, by its name. */
  metricsUrls: Record<string, string>;
  /** The environment of `pnpm herald`, which packages/dev/bin/command.js reads. */
  settings: Record<string, string>;
}

const runFile = () => join(localFolder(), "run.json");

/** Appears whole or not at all: scripts wait for the file and read it at once. */
export function writeRunFile(info: RunInfo): void {
  const file = runFile();
  const draft = `${file}.draft`;
  writeFileSync(draft, `${JSON.stringify(info, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
}

export function removeRunFile(): void {
  rmSync(runFile(), { force: true });
}

/** The Herald that runs now, for commands that use it. @throws where nothing runs, saying how to start it */
export function readRunFile(): RunInfo {
  const file = runFile();
  if (!existsSync(file)) throw new Error(`Herald does not run here: there is no ${file}. Start it with "pnpm start".`);
  return JSON.parse(readFileSync(file, "utf8")) as RunInfo;
}

/** The settings SECRET_KEYS and AUTH_JWT_SECRET. */
interface LocalSecrets {
  secretKeys: string;
  jwtSecret: string;
}

/**
 * Reads the secrets of a local stack. They are made once, since stored signing secrets are sealed to them. Only the owner can read the file.
 *
 * @throws where the file is there and can't be used, an earlier version's for example: what the database holds is sealed to its keys
 */
export function localSecrets(local: string): LocalSecrets {
  const file = join(local, "secrets.json");
  if (existsSync(file)) return readSecrets(file, local);
  const secrets = {
    secretKeys: newSealingKeys("local").SECRET_KEYS,
    jwtSecret: randomBytes(32).toString("base64url"),
  };
  writeFileSync(file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  return secrets;
}

function readSecrets(file: string, local: string): LocalSecrets {
  try {
    const secrets = JSON.parse(readFileSync(file, "utf8")) as LocalSecrets;
    readSecretKeys(secrets.secretKeys);
    return secrets;
  } catch (cause) {
    // The reason is not shown: a parser quotes what it can't read.
    throw new Error(
      `${file} holds no keys that Herald can use; an earlier version may have written it. Remove ${local} to begin again, ` +
        "without the endpoints and events of before. To keep them, remove that file alone, and replace the signing secret of each endpoint on its page.",
      { cause },
    );
  }
}
