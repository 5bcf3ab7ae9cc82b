import { join } from "node:path";
import { migrate } from "@herald/common/database/migrate";
import { sealingKeyOf } from "@herald/common/security/sealing-keys";
import { localFolder } from "../stack/folders.ts";
import { type Closing, closing, startBackends } from "./backends.ts";
import { DEMO_ORGANIZATION, developmentToken, FULL_ACCESS } from "./development-token.ts";
import { localCertificates, startLocalReceiver } from "./local-certificates.ts";
import { localSecrets, type RunInfo, removeRunFile, writeRunFile } from "./local-files.ts";
import { type Progress, panel } from "./panel.ts";
import { serviceSpecs, startService } from "./services.ts";

export interface StartOptions {
  progress: Progress;
  /** For what happens afterwards: requests to the demo receiver, warnings of the services. */
  print: (text: string) => void;
  /** Ends the start when it is aborted; what was started by then is ended. */
  signal: AbortSignal;
  /** Lets debuggers attach to the services. */
  inspect?: boolean;
}

/** Starts PostgreSQL, RabbitMQ, the three services and the demo receiver. @throws where a part does not start; nothing is left running then */
export async function startHerald(options: StartOptions) {
  const local = localFolder();
  const parts = closing();
  const stop = async () => {
    removeRunFile();
    await parts.close();
  };
  try {
    return { ...(await startParts(local, parts, options)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startParts(local: string, parts: Closing, options: StartOptions) {
  const { progress, print, signal } = options;
  removeRunFile();
  const secrets = localSecrets(local);
  const secretKeys = process.env.SECRET_KEYS || secrets.secretKeys;
  const sealingKey = process.env.SECRET_SEALING_KEY || sealingKeyOf(secretKeys);
  const namespace = process.env.BROKER_NAMESPACE || "herald";
  const certificates = await localCertificates(join(local, "certificates"), process.env.EXTRA_CA_FILE);
  const { databaseUrl, amqpUrl, serviceUrls, ended } = await startBackends({ local, namespace }, parts, progress);
  signal.throwIfAborted();

  await progress.step("Migrations", () => migrate(databaseUrl));
  const receiver = await startLocalReceiver(databaseUrl, secretKeys, certificates.receiver, print);
  parts.add(() => receiver.close());
  const { jwtSecret } = secrets;
  const { trustedFile } = certificates;
  const { specs, origin, metricsUrls, settings } = await serviceSpecs(
    { databaseUrl, amqpUrl, serviceUrls, namespace, secretKeys, sealingKey, jwtSecret, trustedFile },
    options.inspect,
  );
  const logFolder = join(local, "logs");
  const services = await progress.step("Services", () =>
    Promise.all(
      specs.map(async (spec) => {
        const service = await startService(spec, logFolder, print);
        parts.add(() => service.stop());
        return service;
      }),
    ),
  );
  signal.throwIfAborted();

  const token = await developmentToken(jwtSecret, { organizationId: DEMO_ORGANIZATION, ...FULL_ACCESS });
  const info: RunInfo = {
    apiUrl: origin,
    adminSignInUrl: `${origin}/administration/sign-in#${token}`,
    token,
    organizationId: DEMO_ORGANIZATION,
    amqpUrl,
    databaseUrl,
    receiverUrl: receiver.url,
    metricsUrls,
    settings,
  };
  writeRunFile(info);
  return {
    panel: panel(info, certificates.authorityFile, receiver.controlUrl),
    /** Resolves with the reason when a part has ended for good. */
    broken: Promise.race([ended, ...services.map((service) => service.ended)]),
  };
}
