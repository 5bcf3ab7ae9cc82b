import { safetySettings, serviceSettings } from "@herald/common/config/common-settings";
import type { Settings } from "@herald/common/config/settings";

const { AMQP_URL, AMQP_CA_FILE, BROKER_NAMESPACE, HTTP_HOST, OPERATIONS_PORT, LOG_LEVEL } = serviceSettings;

export const outboxSettings = {
  OUTBOX_DATABASE_URL: {
    type: "string",
    required: true,
    secret: true,
    pattern: "^(postgres|postgresql)://",
    description:
      "The PostgreSQL database with the outbox of a product service, as postgres://user:password@host:port/database; for TLS " +
      "?sslmode=verify-full behind it, and with your own authority &sslrootcert=FILE.",
  },
  OUTBOX_TABLE: {
    type: "string",
    default: "herald_outbox",
    pattern: "^[^.]+(\\.[^.]+)?$",
    description: "The outbox's table, with its schema in front if that is not the connection's: schema.table.",
  },
} as const satisfies Settings;

export const relaySettings = {
  ...safetySettings,
  ...outboxSettings,
  OUTBOX_KEEP_DAYS: {
    type: "number",
    default: 7,
    minimum: 0,
    maximum: 3_650,
    description:
      "How many days rows of the outbox are kept after the broker has confirmed them, so that they can be replayed.",
  },
  AMQP_URL,
  AMQP_CA_FILE,
  BROKER_NAMESPACE,
  HTTP_HOST,
  OPERATIONS_PORT,
  LOG_LEVEL,
} as const satisfies Settings;
