import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "@herald/common/database/open-database";
import { secretBox } from "@herald/common/security/secret-box";
import { localCertificate } from "@herald/listen";
import { type KeyPair, makeAuthority, openAuthority } from "../certificates/authority.ts";
import { type DemoReceiver, startDemoReceiver } from "../demo-receiver/demo-receiver.ts";
import { freePort } from "../stack/ports.ts";

/** The certificates of a local stack. The authority is made once, so that a tool has to learn to trust it only once. Only this stack trusts it. */
export async function localCertificates(folder: string, extraFile?: string) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  /** The local authority alone, for curl and the like. */
  const authorityFile = join(folder, "authority.pem");
  const keyFile = join(folder, "authority-key.pem");
  const known = existsSync(authorityFile) && existsSync(keyFile);
  const authority = known
    ? await openAuthority({ cert: readFileSync(authorityFile, "utf8"), key: readFileSync(keyFile, "utf8") })
    : await makeAuthority("Herald local development");
  if (!known) {
    writeFileSync(keyFile, authority.key, { mode: 0o600 });
    writeFileSync(authorityFile, authority.cert);
  }
  /** What the dispatcher trusts beside the system's roots: the local authority, the listener's certificate, and what EXTRA_CA_FILE names. */
  const trustedFile = join(folder, "trusted.pem");
  writeFileSync(trustedFile, [authority.cert, (await localCertificate()).cert, ...readExtra(extraFile)].join("\n"));
  const receiver = await authority.issue({ names: ["localhost", "127.0.0.1", "::1"] });
  return { receiver, trustedFile, authorityFile };
}

function readExtra(file: string | undefined): string[] {
  if (!file) return [];
  try {
    return [readFileSync(file, "utf8")];
  } catch (error) {
    throw new Error(`EXTRA_CA_FILE names ${file}, which cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** Starts the demo receiver. It reads the signing secrets of all endpoints, so that it can verify every delivery. */
export async function startLocalReceiver(
  databaseUrl: string,
  secretKeys: string,
  tls: KeyPair,
  print: (text: string) => void,
): Promise<DemoReceiver> {
  const database = openDatabase(databaseUrl, { poolSize: 2, applicationName: "herald-demo-receiver" });
  const box = secretBox(secretKeys);
  const secrets = async () => {
    const endpoints = await database.prisma.webhookEndpoint.findMany({ select: { id: true, sealedSecret: true } });
    return endpoints.map(({ id, sealedSecret }) => box.open(sealedSecret, id));
  };
  try {
    const port = await freePort(8443);
    const colour = process.stdout.isTTY;
    const receiver = await startDemoReceiver({ port, tls, secrets, print, colour });
    return {
      ...receiver,
      close: async () => {
        await receiver.close();
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}
