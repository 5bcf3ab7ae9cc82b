import type { Queries } from "@herald/common/database/queries";
import { type KnownReceiver, readReceivers } from "../sql/read-configuration.ts";

const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";

/** Enabled receivers in turn, so many at each call, and from the first one again after the last. None while PostgreSQL does not answer. */
export function someReceivers({ queries }: { queries: Queries }): (count: number) => Promise<KnownReceiver[]> {
  let after = BEFORE_ALL;
  return async (count) => {
    const receivers = await readReceivers(queries, after, count).catch(() => []);
    after = receivers.at(-1)?.endpointId ?? BEFORE_ALL;
    return receivers;
  };
}
