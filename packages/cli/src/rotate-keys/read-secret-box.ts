import { secretSettings } from "@herald/common/config/common-settings";
import { ConfigError, readConfig } from "@herald/common/config/read-config";
import { type SecretBox, secretBox } from "@herald/common/security/secret-box";
import type { CommandContext } from "../command.ts";

/**
 * What SECRET_KEYS seal and open.
 *
 * @throws ConfigError where they can't be used
 */
export function readSecretBox({ environment }: CommandContext): SecretBox {
  const { SECRET_KEYS } = readConfig(secretSettings, environment);
  try {
    return secretBox(SECRET_KEYS);
  } catch (error) {
    throw new ConfigError([(error as Error).message]);
  }
}
