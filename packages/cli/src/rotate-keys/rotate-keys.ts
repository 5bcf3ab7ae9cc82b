import type { PrismaClient } from "@herald/common/database/generated/client";
import type { SecretBox } from "@herald/common/security/secret-box";
import { readSealedSecrets, resealSecrets } from "./reseal-secrets.ts";

export interface RotationOptions {
  pageSize: number;
  /** Counts, and writes nothing. */
  dryRun: boolean;
}

export interface Rotation {
  /** Endpoints that were read. */
  endpoints: number;
  /** Secrets that it sealed to the newest key; in a dry run, those that it would seal. */
  resealed: number;
  /** Secrets that an edit or another rotation replaced between the reading and the writing. */
  overtaken: number;
  /** Secrets that can't be opened, and why. */
  unreadable: { endpointId: string; reason: string }[];
}

/**
 * Seals every endpoint's secret to the newest key, page by page. It skips what is sealed to that key already, so the
 * next run finishes one that was interrupted.
 *
 * @param onPage called with the totals after each page
 */
export async function rotateKeys(
  prisma: PrismaClient,
  box: SecretBox,
  { pageSize, dryRun }: RotationOptions,
  onPage: (soFar: Rotation) => void,
): Promise<Rotation> {
  const total: Rotation = { endpoints: 0, resealed: 0, overtaken: 0, unreadable: [] };
  let after = ZERO_UUID;
  for (let rowCount = pageSize; rowCount === pageSize; ) {
    const page = await readSealedSecrets(prisma, { after, pageSize });
    const changes = page
      .filter(({ sealedSecret }) => !box.isSealedWithNewest(sealedSecret))
      .flatMap(({ endpointId, sealedSecret }) => {
        try {
          return [{ endpointId, sealedSecret, resealed: box.seal(box.open(sealedSecret, endpointId), endpointId) }];
        } catch (error) {
          total.unreadable.push({ endpointId, reason: (error as Error).message });
          return [];
        }
      });
    const written = dryRun || changes.length === 0 ? changes.length : await resealSecrets(prisma, changes);
    total.endpoints += page.length;
    total.resealed += written;
    total.overtaken += changes.length - written;
    onPage(total);
    rowCount = page.length;
    after = page.at(-1)?.endpointId ?? after;
  }
  return total;
}

const ZERO_UUID = "00000000-0000-0000-0000-000000000000";
