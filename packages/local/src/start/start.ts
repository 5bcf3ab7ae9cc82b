import { join } from "node:path";
import { migrate } from "@herald/common/database/migrate";
import { openDatabase } from "@herald/common/database/open-database";
import { localFolder } from "@herald/testkit/stack/folders";
import { freePort } from "@herald/testkit/stack/ports";
import { startPostgres } from "@herald/testkit/stack/postgres";
import { endStaleProcesses } from "@herald/testkit/stack/processes";
import { startRabbitmq } from "@herald/testkit/stack/rabbitmq";
import { startDemoReceiver } from "../demo-receiver/demo-receiver.ts";
import { DEFAULT_NAMESPACE, keepBrokerNamespace } from "./broker-namespace.ts";
import { type Closing, closing } from "./closing.ts";
import { DEMO_ORGANIZATION, developmentToken, FULL_ACCESS } from "./development-token.ts";
import { localCertificates } from "./local-certificates.ts";
import { localSecrets, secretsFile } from "./local-secrets.ts";
import { panel } from "./panel.ts";
import type { Progress } from "./progress.ts";
import { type RunInfo, removeRunFile, writeRunFile } from "./run-file.ts";
import { forTheTerminal } from "./service-lines.ts";
import { serviceSpecs } from "./service-specs.ts";
import { superviseService } from "./services.ts";
import { readSigningSecrets } from "./signing-secrets.ts";

export interface RunningHerald {
  info: RunInfo;
  /** What to show to a person. */
  panel: string;
  /** Resolves with the reason when a part has ended for good. */
  broken: Promise<Error>;
  stop(): Promise<void>;
}

/**
 * Brings up all of Herald on this machine: PostgreSQL, RabbitMQ, the three services, the demo receiver.
 *
 * @param print for what happens afterwards: requests to the demo receiver, warnings of the services
 * @param signal ends the start when it is aborted; what was started by then is ended
 * @throws where a part does not come up; nothing is left running then
 */
export async function startHerald(
  progress: Progress,
  print: (text: string) => void,
  signal: AbortSignal,
): Promise<RunningHerald> {
  const local = localFolder();
  const parts = closing();
  try {
    return await bringUp({ local, parts, progress, print, signal });
  } catch (error) {
    removeRunFile(local);
    await parts.close();
    throw error;
  }
}

interface Context {
  local: string;
  parts: Closing;
  progress: Progress;
  print: (text: string) => void;
  signal: AbortSignal;
}

async function bringUp(context: Context): Promise<RunningHerald> {
  const { local, parts, progress, print, signal } = context;
  const folders = { pids: join(local, "pids"), logs: join(local, "logs") };
  removeRunFile(local);
  const stale = await endStaleProcesses(folders.pids);
  if (stale.length > 0) progress.say(`Ended what an earlier run had left running: ${stale.join(", ")}.`);

  const secrets = localSecrets(secretsFile(local));
  const certificates = await localCertificates(join(local, "certificates"), process.env.EXTRA_CA_FILE);
  const { databaseUrl, amqpUrl, backendEnded } = await startBackends(context, folders.pids);
  signal.throwIfAborted();

  await progress.step("Migrations", () => migrate(databaseUrl));
  const secretKeys = process.env.SECRET_KEYS || secrets.secretKeys;
  const database = openDatabase(databaseUrl, { poolSize: 2, applicationName: "herald-demo-receiver" });
  parts.add(() => database.close());
  const receiver = await startDemoReceiver({
    host: "127.0.0.1",
    port: await freePort(8443),
    tls: certificates.receiver,
    secrets: readSigningSecrets(database, secretKeys),
    print,
    colour: process.stdout.isTTY,
  });
  parts.add(() => receiver.close());

  const namespace = process.env.BROKER_NAMESPACE || DEFAULT_NAMESPACE;
  keepBrokerNamespace(local, namespace);
  const { specs, origin, metricsUrls } = await serviceSpecs({
    databaseUrl,
    amqpUrl,
    namespace,
    secretKeys,
    jwtSecret: secrets.jwtSecret,
    trustedFile: certificates.trustedFile,
  });
  const services = await progress.step("Services", () =>
    Promise.all(
      specs.map(async (spec) => {
        const service = await superviseService(spec, {
          pidFolder: folders.pids,
          logFolder: folders.logs,
          say: print,
          onLine: (name, line) => {
            const text = forTheTerminal(name, line);
            if (text !== undefined) print(text);
          },
        });
        parts.add(() => service.stop());
        return service;
      }),
    ),
  );
  signal.throwIfAborted();

  const token = await developmentToken(secrets.jwtSecret, { organizationId: DEMO_ORGANIZATION, ...FULL_ACCESS });
  const info: RunInfo = {
    apiUrl: origin,
    adminUrl: `${origin}/administration/integrations`,
    adminSignInUrl: `${origin}/administration/sign-in#${token}`,
    token,
    organizationId: DEMO_ORGANIZATION,
    amqpUrl,
    databaseUrl,
    receiverUrl: receiver.url,
    metricsUrls,
  };
  writeRunFile(local, info);
  return {
    info,
    panel: panel(info, certificates.authorityFile, receiver.controlUrl),
    broken: Promise.race([backendEnded, ...services.map((service) => service.givenUp)]),
    stop: async () => {
      removeRunFile(local);
      await parts.close();
    },
  };
}

/** PostgreSQL and RabbitMQ, at the same time; a start that fails waits for the other's, so that it can be ended. */
async function startBackends({ local, parts, progress }: Context, pidFolder: string) {
  let reportEnd: (error: Error) => void = () => {};
  const backendEnded = new Promise<Error>((resolve) => {
    reportEnd = resolve;
  });
  const watch = (name: string, exited: Promise<unknown> | undefined) =>
    exited?.then(() => reportEnd(new Error(`${name} ended by itself. Its data is kept; start again.`)));

  const startDatabase = async () => {
    const external = process.env.DATABASE_URL;
    if (external) {
      progress.say("PostgreSQL: the one that DATABASE_URL names");
      return external;
    }
    return await progress.step("PostgreSQL", async () => {
      const postgres = await startPostgres({ folder: join(local, "postgres"), pidFolder, preferredPort: 5432 });
      parts.addLast(() => postgres.stop());
      void watch("PostgreSQL", postgres.process.exited);
      return postgres.url;
    });
  };
  const startBroker = () =>
    progress.step("RabbitMQ", async (onProgress) => {
      const folder = join(local, "rabbitmq");
      const rabbitmq = await startRabbitmq({ folder, pidFolder, preferredPort: 5672, onProgress });
      parts.addLast(() => rabbitmq.stop());
      void watch("RabbitMQ", rabbitmq.exited);
      return rabbitmq.url;
    });

  const [database, broker] = await Promise.allSettled([startDatabase(), startBroker()]);
  if (database.status === "rejected") throw database.reason;
  if (broker.status === "rejected") throw broker.reason;
  return { databaseUrl: database.value, amqpUrl: broker.value, backendEnded };
}
