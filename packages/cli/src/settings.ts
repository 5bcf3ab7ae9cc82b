import { type Environment, readConfig } from "@herald/common/config/read-config";
import type { Setting } from "@herald/common/config/settings";
import { JUDGED_SETTINGS } from "@herald/common/config/unsafe-settings";

/**
 * Refuses what production must not run with, whatever a command needs of it: so all faults of an environment are shown at once.
 *
 * @throws ConfigError
 */
export function assertSafe(environment: Environment): void {
  // Whether a value is right otherwise, its reader says. As secrets they may come from files, and are never shown.
  const judged: Setting = { type: "string", secret: true, description: "" };
  readConfig(Object.fromEntries(JUDGED_SETTINGS.map((name) => [name, judged])), environment);
}
