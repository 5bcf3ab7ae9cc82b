import type { Queries, Reads } from "@herald/common/database/queries";
import type { SecretBox } from "@herald/common/security/secret-box";

interface SealedSecret {
  endpointId: string;
  sealedSecret: string;
}

const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/** All sealed secrets, by endpoint, in pages; the last one may be empty. Locks nothing. Walks webhook_endpoint_pkey. */
async function* sealedSecrets(reads: Reads, pageSize: number): AsyncGenerator<SealedSecret[]> {
  for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
    const page: SealedSecret[] = await reads.$queryRaw<SealedSecret[]>`
      select id as "endpointId", sealed_secret as "sealedSecret"
      from webhook_endpoint
      where id > ${after}::uuid
      order by id
      limit ${pageSize}`;
    yield page;
    after = page.length < pageSize ? undefined : page.at(-1)?.endpointId;
  }
}

interface RotationOptions {
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
  queries: Queries,
  box: SecretBox,
  { pageSize, dryRun }: RotationOptions,
  onPage: (soFar: Rotation) => void = () => undefined,
): Promise<Rotation> {
  const total: Rotation = { endpoints: 0, resealed: 0, overtaken: 0, unreadable: [] };
  for await (const page of sealedSecrets(queries, pageSize)) {
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
    const written = dryRun || changes.length === 0 ? changes.length : await resealSecrets(queries, changes);
    total.endpoints += page.length;
    total.resealed += written;
    total.overtaken += changes.length - written;
    onPage(total);
  }
  return total;
}

/**
 * Writes the same secrets again, sealed to another key. A secret that was replaced since it was read stays as it is. The
 * endpoint's configuration does not change, so neither does its revision. Returns how many secrets it wrote.
 *
 * Locks those endpoints, in the order of their ids, as every statement does that locks several. Walks webhook_endpoint_pkey.
 */
async function resealSecrets(
  queries: Queries,
  changes: readonly (SealedSecret & { resealed: string })[],
): Promise<number> {
  return await queries.$executeRaw`
    with change as (
      select * from unnest(
        ${changes.map((change) => change.endpointId)}::uuid[],
        ${changes.map((change) => change.sealedSecret)}::text[],
        ${changes.map((change) => change.resealed)}::text[]
      ) as change (endpoint_id, sealed_secret, resealed)
    ), locked as materialized (
      select endpoint.id, change.resealed
      from webhook_endpoint as endpoint
      join change on change.endpoint_id = endpoint.id and change.sealed_secret = endpoint.sealed_secret
      order by endpoint.id
      for no key update of endpoint
    )
    update webhook_endpoint
    set sealed_secret = locked.resealed
    from locked
    where webhook_endpoint.id = locked.id`;
}
