import type { Queries } from "@herald/common/database/queries";
import type { SealedHeaders } from "@herald/common/security/secret-box";
import type { StoredHealth } from "./rows.ts";

/** An endpoint's settings and health, as far as attempts need them. */
export interface Configuration extends StoredHealth {
  url: string;
  sealedSecret: string;
  headers: SealedHeaders | null;
  /** Whether the endpoint's row says that no dispatcher had the key to decrypt its signing secret and its own headers. */
  quarantined: boolean;
  /** A result of an older revision does not count for or against the endpoint. */
  revision: bigint;
}

export type TimedConfiguration = { configuration: Configuration; configuredAt: Date };

/** In the order of their ids; undefined for a disabled or deleted endpoint. Locks nothing. Walks webhook_endpoint_pkey. */
export async function readConfiguration(
  queries: Queries,
  endpointIds: readonly string[],
  now: Date,
): Promise<(TimedConfiguration | undefined)[]> {
  const rows = await queries.$queryRaw<(Configuration & { id: string })[]>`
    select id, url, sealed_secret as "sealedSecret", headers, quarantined_at is not null as "quarantined", revision,
      consecutive_failures as "failures", paused_until as "pausedUntil"
    from webhook_endpoint
    where id = any (${[...new Set(endpointIds)]}::uuid[]) and enabled`;
  const byId = new Map(rows.map(({ id, ...configuration }) => [id, { configuration, configuredAt: now }]));
  return endpointIds.map((endpointId) => byId.get(endpointId));
}

export type KnownReceiver = { endpointId: string; organizationId: string; url: string };

const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";

/**
 * Enabled receivers in the order of their ids: the next `count` at each call, and the first one again after the last. None while PostgreSQL does not
 * answer. Locks nothing. Walks webhook_endpoint_pkey.
 */
export function someReceivers(queries: Queries) {
  let after: string = BEFORE_ALL;
  return async (count: number): Promise<KnownReceiver[]> => {
    const reading = queries.$queryRaw<KnownReceiver[]>`
      select id as "endpointId", organization_id as "organizationId", url from webhook_endpoint
      where id > ${after}::uuid and enabled
      order by id
      limit ${count}`;
    const receivers = await reading.catch(() => []);
    after = receivers.length < count ? BEFORE_ALL : (receivers.at(-1) as KnownReceiver).endpointId;
    return receivers;
  };
}
