import { join } from "node:path";
import type { BrokerUrls } from "../stack/broker-rights.ts";
import { projectFolder } from "../stack/folders.ts";
import { freePort } from "../stack/ports.ts";
import { DEVELOPMENT_AUDIENCE, DEVELOPMENT_ISSUER } from "./development-token.ts";
import type { ServiceSpec } from "./services.ts";

export interface ServiceSettings {
  databaseUrl: string;
  amqpUrl: string;
  serviceUrls: BrokerUrls | undefined;
  namespace: string;
  secretKeys: string;
  sealingKey: string;
  jwtSecret: string;
  trustedFile: string;
}

const HOST = "127.0.0.1";
const DEFAULT_PORT = 8080;
const FIRST_OPERATIONS_PORT = 9464;
/** Those that .vscode/launch.json attaches to. */
const FIRST_INSPECT_PORT = 9229;
const SERVICES = ["management-api", "publisher", "dispatcher"] as const;

/**
 * How the three services run on this machine. Settings in this process's own environment are passed on, so that
 * `RETRY_DELAYS_SECONDS=1,2,3,4 pnpm start` works. Only addresses, secrets and files are decided here.
 */
export async function serviceSpecs(settings: ServiceSettings, inspect = false) {
  // With a second source of keys the API refuses to start, and the development token would not be valid.
  const { AUTH_JWKS_URL: _jwks, AUTH_PUBLIC_KEY: _key, NODE_OPTIONS: _options, ...passedOn } = process.env;
  const { SECRET_KEYS: _keys, SECRET_SEALING_KEY: _sealingKey, ...inherited } = passedOn;
  const port = await freePort(Number(process.env.PORT) || DEFAULT_PORT);
  const own = {
    HERALD_ENV: "development",
    BROKER_NAMESPACE: settings.namespace,
    DATABASE_URL: settings.databaseUrl,
    EXTRA_CA_FILE: settings.trustedFile,
    AUTH_JWT_SECRET: settings.jwtSecret,
    AUTH_ISSUER: DEVELOPMENT_ISSUER,
    AUTH_AUDIENCE: DEVELOPMENT_AUDIENCE,
  };
  const networks = { ALLOWED_PRIVATE_NETWORKS: process.env.ALLOWED_PRIVATE_NETWORKS ?? "127.0.0.0/8,::1/128" };
  const shared: NodeJS.ProcessEnv = {
    LOG_LEVEL: "info",
    ...inherited,
    ...own,
    ...networks,
    NODE_ENV: process.env.NODE_ENV ?? "production",
    HTTP_HOST: HOST,
    PORT: `${port}`,
  };
  /** As in production, each service has no other key than it needs. */
  const { secretKeys: SECRET_KEYS, sealingKey: SECRET_SEALING_KEY } = settings;
  const keys: Record<(typeof SERVICES)[number], NodeJS.ProcessEnv> = {
    "management-api": { SECRET_SEALING_KEY },
    publisher: {},
    dispatcher: { SECRET_KEYS },
  };
  const specs: ServiceSpec[] = [];
  for (const [index, name] of SERVICES.entries()) {
    const metricsPort = await freePort(FIRST_OPERATIONS_PORT);
    specs.push({
      name,
      main: join(projectFolder(), "services", name, "dist", "main.js"),
      env: {
        ...shared,
        AMQP_URL: settings.serviceUrls?.[name] ?? settings.amqpUrl,
        ...keys[name],
        OPERATIONS_PORT: `${metricsPort}`,
      },
      metricsUrl: `http://${HOST}:${metricsPort}`,
      ...(inspect && { inspectPort: FIRST_INSPECT_PORT + index }),
    });
  }
  return {
    specs,
    /** The environment of the `herald` command for this Herald. */
    settings: { ...own, ...networks, AMQP_URL: settings.amqpUrl, SECRET_KEYS, SECRET_SEALING_KEY },
    /** Where the management API and the admin page are, base path included, no slash at the end. */
    origin: `http://${HOST}:${port}${process.env.BASE_PATH ?? ""}`,
    metricsUrls: Object.fromEntries(specs.map((spec) => [spec.name, `${spec.metricsUrl}/metrics`])),
  };
}
