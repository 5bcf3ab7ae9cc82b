import type { Queries } from "@herald/common/database/queries";
import type { Configuration } from "./read-configuration.ts";
import type { EndpointWithWork } from "./sweep.ts";

/** Where an endpoint's deliveries go. */
export type KnownReceiver = Pick<EndpointWithWork, "endpointId" | "organizationId"> & Pick<Configuration, "url">;

/** Reads the next `count` enabled endpoints after this one, in the order of their ids. Locks nothing. Walks webhook_endpoint_pkey. */
export async function readReceivers(queries: Queries, after: string, count: number): Promise<KnownReceiver[]> {
  return await queries.$queryRaw<KnownReceiver[]>`
    select id as "endpointId", organization_id as "organizationId", url from webhook_endpoint
    where id > ${after}::uuid and enabled
    order by id
    limit ${count}`;
}
