import { openDatabase } from "@herald/common/database/open-database";
import { secretBox } from "@herald/common/security/secret-box";
import type { KeyPair } from "../certificates/authority.ts";
import { type DemoReceiver, startDemoReceiver } from "../demo-receiver/demo-receiver.ts";
import { freePort } from "../stack/ports.ts";

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
    const receiver = await startDemoReceiver({ host: "127.0.0.1", port, tls, secrets, print, colour });
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
