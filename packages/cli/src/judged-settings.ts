import { networkSettings, secretSettings, serviceSettings } from "@herald/common/config/common-settings";
import { type Environment, readConfig } from "@herald/common/config/read-config";
import type { Setting, Settings } from "@herald/common/config/settings";
import { outboxSettings } from "./relay/relay-settings.ts";
import { splitSettings } from "./split/split-command.ts";

/** Settings of the management API, which says what they mean. */
export const ofManagementApi = {
  AUTH_JWKS_URL: { type: "string", description: "Of the management API." },
  AUTH_JWT_SECRET: { type: "string", secret: true, description: "Of the management API." },
  AUTH_ISSUER: { type: "string", description: "Of the management API." },
  AUTH_AUDIENCE: { type: "string", description: "Of the management API." },
  SIGN_IN_LINKS: { type: "boolean", description: "Of the management API." },
  PUBLIC_ORIGIN: { type: "string", description: "Of the management API." },
  PAGE_FRAME_ANCESTORS: { type: "string", description: "Of the management API." },
} as const satisfies Settings;

/**
 * Reads every setting that production judges, as far as it is there, whatever a command needs of them: so all faults of an environment
 * are told at once.
 *
 * @throws ConfigError
 */
export function assertSafe(environment: Environment): void {
  const { DATABASE_URL, DATABASE_CA_FILE, AMQP_URL } = serviceSettings;
  const { OUTBOX_DATABASE_URL } = outboxSettings;
  const addresses = { DATABASE_URL, DATABASE_CA_FILE, AMQP_URL, OUTBOX_DATABASE_URL, ...splitSettings };
  const judged = { ...addresses, ...secretSettings, ...networkSettings, ...ofManagementApi };
  const optional = ([name, { required: _required, ...setting }]: [string, Setting]) => [name, setting] as const;
  readConfig(Object.fromEntries(Object.entries<Setting>(judged).map(optional)), environment);
}
