import type { Database } from "@herald/common/database/open-database";
import { secretBox } from "@herald/common/security/secret-box";

/** Reads the signing secrets of all endpoints, so that the demo receiver can verify without being told. */
export function readSigningSecrets(database: Database, secretKeys: string): () => Promise<string[]> {
  const box = secretBox(secretKeys);
  return async () => {
    const endpoints = await database.prisma.webhookEndpoint.findMany({ select: { id: true, sealedSecret: true } });
    return endpoints.map(({ id, sealedSecret }) => box.open(sealedSecret, id));
  };
}
