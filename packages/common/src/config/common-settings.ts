import type { Settings } from "./settings.ts";

/** What every service needs. */
export const serviceSettings = {
  DATABASE_URL: {
    type: "string",
    required: true,
    secret: true,
    description: "PostgreSQL 18 or later, as postgres://user:password@host:port/database.",
  },
  DATABASE_POOL_SIZE: {
    type: "integer",
    default: 10,
    minimum: 1,
    maximum: 200,
    description: "Connections that this process keeps to PostgreSQL at the most.",
  },
  DATABASE_TIMEOUT_SECONDS: {
    type: "number",
    default: 30,
    minimum: 1,
    maximum: 600,
    description: "How long PostgreSQL may take for one statement; two seconds later its connection counts as broken.",
  },
  AMQP_URL: {
    type: "string",
    required: true,
    secret: true,
    description: "RabbitMQ, as amqp://user:password@host:port/vhost, or amqps://.",
  },
  BROKER_NAMESPACE: {
    type: "string",
    default: "herald",
    pattern: "^[A-Za-z0-9._-]{1,60}$",
    description: "First part of every queue's and exchange's name, so that several Heralds can share a broker.",
  },
  HTTP_HOST: { type: "string", default: "0.0.0.0", description: "Address that the service's HTTP ports listen on." },
  METRICS_PORT: {
    type: "integer",
    default: 9464,
    minimum: 0,
    maximum: 65535,
    description: "Port of /healthz, /readyz and /metrics.",
  },
  LOG_LEVEL: {
    type: "string",
    default: "info",
    enum: ["debug", "info", "warn", "error"],
    description: "Least severe log lines to write.",
  },
} as const satisfies Settings;

/** Opening the signing secrets that the database holds. */
export const secretSettings = {
  SECRET_KEYS: {
    type: "string",
    required: true,
    secret: true,
    description:
      "Keys that seal the signing secrets at rest, newest first: id:base64 of 32 bytes, separated by commas.",
  },
} as const satisfies Settings;

/** Which receivers may be reached. */
export const networkSettings = {
  ALLOWED_PRIVATE_NETWORKS: {
    type: "string",
    default: "",
    description: "CIDR list of non-public networks that webhooks may be sent to; for development.",
  },
} as const satisfies Settings;
