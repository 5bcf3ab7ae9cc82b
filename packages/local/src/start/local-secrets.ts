import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What only this checkout knows; made once, since stored signing secrets are sealed with it. */
export interface LocalSecrets {
  /** The setting SECRET_KEYS. */
  secretKeys: string;
  /** The setting AUTH_JWT_SECRET. */
  jwtSecret: string;
}

/** Reads the secrets of a local stack, or makes them. The file is for its owner only. */
export function localSecrets(file: string): LocalSecrets {
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")) as LocalSecrets;
  const secrets = {
    secretKeys: `local:${randomBytes(32).toString("base64")}`,
    jwtSecret: randomBytes(32).toString("base64url"),
  };
  writeFileSync(file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  return secrets;
}

/** Where a local stack keeps its secrets. */
export function secretsFile(local: string): string {
  return join(local, "secrets.json");
}
