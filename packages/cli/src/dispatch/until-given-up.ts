import { setTimeout as sleep } from "node:timers/promises";
import type { Reads } from "@herald/common/database/queries";
import { plural } from "../output.ts";
import { readLivingDispatchers } from "./dispatch-state.ts";

const LOOK_EVERY_MS = 100;

/**
 * Resolves once no living dispatcher owns a shard. One that gives a shard up has settled all that it had begun there, which takes as long
 * as its receivers do, 15 s at the most; one that has died counts as alive for six seconds.
 *
 * @param progress where it throws, the waiting ends
 */
export async function untilGivenUp(reads: Reads, progress: (text: string) => void): Promise<void> {
  for (;;) {
    const owners = (await readLivingDispatchers(reads)).filter(({ shards }) => shards > 0);
    if (owners.length === 0) return;
    const shards = owners.reduce((sum, owner) => sum + owner.shards, 0);
    progress(`waits until ${plural(owners.length, "dispatcher")} have given up ${plural(shards, "shard")}`);
    await sleep(LOOK_EVERY_MS);
  }
}
