import type { Settings } from "./settings.ts";

export const MIB = 1024 ** 2;

/** The setting that decides whether unsafe values are refused. Every program of Herald's reads these, whatever else it reads (`readConfig`). */
export const safetySettings = {
  HERALD_ENV: {
    type: "string",
    default: "production",
    enum: ["production", "development"],
    description: "With production, unsafe settings end the start; development is for your own machine.",
  },
  ALLOW_PLAINTEXT: {
    type: "string",
    default: "",
    pattern: "^((amqp|postgres|proxy)(,(amqp|postgres|proxy))*)?$",
    description:
      "amqp, postgres or proxy (the login in EGRESS_PROXY_URL), or several with commas between: connections that need no TLS to another machine in production, if the network is yours alone.",
  },
} as const satisfies Settings;

/** The memory that a process may take. How much it holds at once follows from it: see memory.ts. */
export const memorySettings = {
  MEMORY_MIB: {
    type: "integer",
    minimum: 176,
    maximum: 65_536,
    description:
      "Memory that this process may take, in MiB; by default the limit of its container or unit, else a quarter of the machine's, and at most 512.",
  },
} as const satisfies Settings;

/** The settings of traces, with OpenTelemetry's names. Its SDK itself reads the other variables of its OTLP exporter. */
const telemetrySettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    type: "string",
    pattern: "^(https?://.+)?$",
    description:
      "OTLP/HTTP collector, as http://host:4318; without it nothing is traced. OpenTelemetry also reads OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, which win over Herald's own attributes.",
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    type: "string",
    secret: true,
    description: "Headers for the collector, as name=value,name=value.",
  },
  OTEL_TRACES_SAMPLER: {
    type: "string",
    default: "parentbased_always_on",
    enum: [
      "parentbased_always_on",
      "parentbased_always_off",
      "parentbased_traceidratio",
      "always_on",
      "always_off",
      "traceidratio",
    ],
    description:
      "Which traces are recorded; with parentbased_ only those that begin in Herald are chosen, and others are recorded if the service that began them records them.",
  },
  OTEL_TRACES_SAMPLER_ARG: {
    type: "number",
    default: 1,
    minimum: 0,
    maximum: 1,
    description: "Share of the traces that traceidratio records.",
  },
} as const satisfies Settings;

export const serviceSettings = {
  ...safetySettings,
  ...memorySettings,
  ...telemetrySettings,
  DATABASE_URL: {
    type: "string",
    required: true,
    secret: true,
    description:
      "PostgreSQL 15 or later, as postgres://user:password@host:port/database; with ?pgbouncer=true behind it if a pooler keeps no prepared statements.",
  },
  DATABASE_CA_FILE: {
    type: "string",
    description:
      "PEM file of the certificate authorities that PostgreSQL's certificate may come from. With it TLS is required, and certificate and host name are checked.",
  },
  DATABASE_POOL_SIZE: {
    type: "integer",
    default: 10,
    minimum: 1,
    maximum: 200,
    description: "The most connections that this process keeps to PostgreSQL, besides one for /readyz and the time.",
  },
  DATABASE_TIMEOUT_SECONDS: {
    type: "number",
    default: 30,
    minimum: 1,
    maximum: 600,
    shared: true,
    description:
      "How long PostgreSQL may take for one statement; two seconds later its connection counts as broken. herald migrate, which sets it in the database, needs the same value.",
  },
  AMQP_URL: {
    type: "string",
    required: true,
    secret: true,
    description: "RabbitMQ, as amqp://user:password@host:port/vhost, or amqps://.",
  },
  AMQP_CA_FILE: {
    type: "string",
    description:
      "PEM file of the certificate authorities that RabbitMQ's certificate may come from, in place of Node's; AMQP_URL has to begin with amqps://.",
  },
  BROKER_NAMESPACE: {
    type: "string",
    default: "herald",
    pattern: "^[A-Za-z0-9._-]{1,60}$",
    shared: true,
    description: "First part of every queue's and exchange's name, so that several Heralds can share a broker.",
  },
  HTTP_HOST: { type: "string", default: "0.0.0.0", description: "Address that the service's HTTP ports listen on." },
  OPERATIONS_PORT: {
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

/** The setting for sealing signing secrets, which the database then holds. A process that only has this key can't open them. */
export const sealingSettings = {
  SECRET_SEALING_KEY: {
    type: "string",
    required: true,
    fromFile: true,
    shared: true,
    description:
      "Public key that signing secrets are sealed to: id:base64. Dispatchers have its private key in SECRET_KEYS; herald keys make makes both.",
  },
} as const satisfies Settings;

export const secretSettings = {
  SECRET_KEYS: {
    type: "string",
    required: true,
    secret: true,
    shared: true,
    description:
      "Private keys that open the signing secrets, newest first: id:base64, separated by commas. herald keys make makes them.",
  },
} as const satisfies Settings;

export const networkSettings = {
  ALLOWED_PRIVATE_NETWORKS: {
    type: "string",
    default: "",
    shared: true,
    description:
      "CIDR list of non-public networks that webhooks may be sent to. In production without the machine's own: loopback, link-local, the metadata of clouds.",
  },
  DENIED_NETWORKS: {
    type: "string",
    default: "",
    shared: true,
    description:
      "CIDR list of networks that webhooks are never sent to, public and allowed ones too: those of your own machines.",
  },
  NAT64_PREFIXES: {
    type: "string",
    default: "",
    shared: true,
    description:
      "NAT64 prefixes of your network, as a CIDR list, besides 64:ff9b::/96: an address behind one is judged by the IPv4 address that it carries.",
  },
} as const satisfies Settings;

/** Settings that more than one service or command reads: for attempts, for the publication window and for the retention. */
export const sharedSettings = {
  HEADER_PREFIX: {
    type: "string",
    default: "X-Service",
    pattern: "^[A-Za-z][A-Za-z0-9-]{0,40}$",
    shared: true,
    description: "First part of the signature, timestamp, event and delivery-id headers' names.",
  },
  STANDARD_WEBHOOKS: {
    type: "boolean",
    default: true,
    shared: true,
    description: "Whether the headers of Standard Webhooks are sent too.",
  },
  ATTEMPT_TIMEOUT_SECONDS: {
    type: "number",
    default: 15,
    minimum: 0.1,
    maximum: 60,
    shared: true,
    description: "How long a receiver has to answer: name look-up, connection, TLS and response headers together.",
  },
  RETRY_DELAYS_SECONDS: {
    type: "string",
    default: "60,120,240,480",
    pattern: "^[0-9]+(\\.[0-9]+)?(,[0-9]+(\\.[0-9]+)?)*$",
    shared: true,
    description: "Pauses after failed attempts; a delivery has one attempt more than there are pauses.",
  },
  DISABLE_AFTER_FAILURES: {
    type: "integer",
    default: 5,
    minimum: 1,
    maximum: 1000,
    shared: true,
    description: "Consecutive failures that disable an endpoint.",
  },
  ENDPOINT_CONCURRENCY: {
    type: "integer",
    default: 10,
    minimum: 1,
    maximum: 1000,
    shared: true,
    description:
      "Attempts to one endpoint that all dispatchers together have in flight at once, without manual deliveries.",
  },
  PUBLICATION_WINDOW_DAYS: {
    type: "number",
    default: 7,
    minimum: 0.01,
    maximum: 30,
    shared: true,
    description: "How many days back events are delivered to an endpoint that missed them.",
  },
  RETENTION_DAYS: {
    type: "number",
    default: 30,
    minimum: 0.01,
    maximum: 36_500,
    shared: true,
    description:
      "How many days deliveries and events are kept, and how long a delivery may wait; at least a day more than PUBLICATION_WINDOW_DAYS.",
  },
} as const satisfies Settings;
