import { createWriteStream, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BrokerUrls } from "../stack/broker-rights.ts";
import { projectFolder } from "../stack/folders.ts";
import { freePort } from "../stack/ports.ts";
import { startProcess, untilReady } from "../stack/processes.ts";
import { DEVELOPMENT_AUDIENCE, DEVELOPMENT_ISSUER } from "./development-token.ts";
import { forTheTerminal } from "./panel.ts";

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
  const specs = [];
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
      /** Where a debugger can attach. */
      inspectPort: inspect ? FIRST_INSPECT_PORT + index : undefined,
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

type ServiceSpec = Awaited<ReturnType<typeof serviceSpecs>>["specs"][number];

const READY_TIMEOUT_MS = 60_000;
/** A service takes 20 s at most to finish what is in flight. */
const STOP_GRACE_MS = 25_000;

/** Starts a service and waits until it is ready. Its warnings are printed for the person at the terminal; the log in `logFolder` has everything. */
export async function startService(spec: ServiceSpec, logFolder: string, print: (text: string) => void) {
  if (!existsSync(spec.main)) throw new Error(`${spec.name} is not built: there is no ${spec.main}. Run "pnpm build".`);
  mkdirSync(logFolder, { recursive: true });
  const logFile = join(logFolder, `${spec.name}.log`);
  const log = createWriteStream(logFile, { flags: "a" });
  const inspect = spec.inspectPort ? [`--inspect=127.0.0.1:${spec.inspectPort}`] : [];
  const child = await startProcess({
    name: spec.name,
    command: process.execPath,
    args: ["--enable-source-maps", ...inspect, spec.main],
    env: spec.env,
    onLine: (line) => {
      log.write(`${line}\n`);
      const text = forTheTerminal(spec.name, line);
      if (text !== undefined) print(text);
    },
  });
  try {
    const ask = () => assertReady(`${spec.metricsUrl}/readyz`);
    await untilReady(spec.name, ask, { timeoutMs: READY_TIMEOUT_MS, child });
  } catch (error) {
    await child.stop(1_000);
    throw error;
  }
  return {
    /** Resolves with the reason when it has ended. */
    ended: child.exited.then(({ code, signal }) => {
      const exit = signal === null ? `exit code ${code}` : `signal ${signal}`;
      const lines = child.lastLines().slice(-20).join("\n    ");
      return new Error(`${spec.name} ended by itself (${exit}). Its last lines, of ${logFile}:\n    ${lines}`);
    }),
    stop: async () => {
      await child.stop(STOP_GRACE_MS);
      log.end();
    },
  };
}

/** @throws unless every part of a service can be used, also the parts without which /readyz answers 200 */
export async function assertReady(url: string): Promise<void> {
  const response = await fetch(url, { headers: { connection: "close" }, signal: AbortSignal.timeout(5_000) });
  const text = await response.text();
  if (response.status !== 200 || text.includes(":false")) {
    throw new Error(`${url} answers ${response.status} ${text}`);
  }
}
