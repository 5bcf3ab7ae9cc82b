import { type Repetition, repeat, within } from "@herald/common/runtime/repeat";
import type { Basics } from "../basics.ts";
import { endLife, heartbeat, releaseShards } from "../sql/heartbeat.ts";
import { ALIVE_MS, createOwnership, type TakenShard } from "./ownership.ts";

interface ShardsOptions {
  id: string;
  newOwnerMs: number;
  /** Whether this process can make attempts. One that can't owns nothing while another one can. */
  isAble: () => boolean;
  /** Since when it reaches no receiver at all; null while it does. */
  outageSince: () => Date | null;
}

interface ShardsUser {
  /** Attempts of the shard that are not settled. */
  inFlightOf: (shard: number) => number;
  /** From now on, attempts may begin there: due deliveries have to be read. */
  onTaken: (shards: readonly TakenShard[]) => void;
  /** Everything about these shards must be forgotten. */
  onLost: (shards: readonly number[]) => void;
  /** After a time without an answer of PostgreSQL, attempts may begin again. */
  onReturn: () => void;
}

export type Shards = ReturnType<typeof createShards>;

const INTERVAL_MS = 1_000;

/** A stop doesn't wait longer than this for PostgreSQL. */
const END_TIMEOUT_MS = 1_000;

/** The shards that this dispatcher owns: see ownership.ts. */
export function createShards({ queries, metrics, log }: Basics, options: ShardsOptions) {
  const { id, isAble, outageSince, newOwnerMs } = options;
  const ownership = createOwnership();
  // The machine's real time, also in tests that set the clock: other dispatchers compare with PostgreSQL's clock, which tests do not set.
  const elapsedMs = () => performance.now();
  let heartbeats: Repetition | undefined;
  let isEnding = false;
  let isBegun = false;
  let failed = false;
  let announceBegun = () => {};
  const begun = new Promise<void>((resolve) => {
    announceBegun = resolve;
  });

  async function sendHeartbeat(user: ShardsUser): Promise<void> {
    const sentMs = elapsedMs();
    const since = outageSince();
    const able = !isEnding && isAble() && since === null;
    const own = { id, aliveMs: ALIVE_MS, able, outageSince: since, newOwnerMs, wanting: !isEnding };
    const answer = await heartbeat(queries, own);
    const answeredMs = elapsedMs();
    const hadLapsed = isBegun && ownership.hasLapsed(answeredMs);
    const { taken, lost, uncertain } = ownership.heard(answer, { sentMs, answeredMs });
    if (isEnding) ownership.releaseAll();
    if (lost.length > 0) {
      const fields = { shards: lost.length };
      log.warn("other dispatchers have taken shards that this one owned: it was silent for too long", fields);
      user.onLost(lost);
    }
    if (uncertain) return await sendHeartbeat(user);
    failed = false;
    ownership.releaseSurplus(user.inFlightOf);
    metrics.shardsOwned.set(ownership.shards().length);
    if (taken.length > 0 && !isEnding) user.onTaken(taken);
    if (hadLapsed) user.onReturn();
    isBegun = true;
    announceBegun();
    await releaseIdle(user);
  }

  async function releaseIdle({ inFlightOf, onLost }: ShardsUser): Promise<void> {
    const idle = ownership.releasing().filter((shard) => inFlightOf(shard) === 0);
    if (idle.length === 0) return;
    const released = await releaseShards(queries, id, idle);
    ownership.released(released);
    metrics.shardsOwned.set(ownership.shards().length);
    onLost(released);
  }

  function onFailure(error: unknown): void {
    if (failed) return;
    failed = true;
    log.warn("PostgreSQL answers no heartbeat; nothing new begins from four seconds on, while this lasts", { error });
  }

  return {
    start(user: ShardsUser): void {
      heartbeats = repeat(() => sendHeartbeat(user), { intervalMs: INTERVAL_MS, onFailure });
    },
    epochOf: (shard: number) => ownership.epochOf(shard, elapsedMs()),
    ownedMs: (shard: number) => ownership.ownedMs(shard, elapsedMs()),
    owned: () => ownership.shards(),
    becameIdle(shard: number): void {
      // The next heartbeat releases it. It comes at once, since others wait for it.
      if (ownership.isReleasing(shard)) heartbeats?.wake();
    },
    /** Resolves with the first answer of PostgreSQL. */
    begun,
    /** Whether PostgreSQL takes its heartbeats: otherwise it owns no shard. */
    isHeard: () => isBegun && !ownership.hasLapsed(elapsedMs()),
    /** Begins to release everything: nothing begins any more. */
    release(): void {
      isEnding = true;
      ownership.releaseAll();
      heartbeats?.wake();
    },
    /** Frees the shards that are still owned. Never rejects: without it, others take the shards a few seconds later. */
    async end(): Promise<void> {
      const freed = Promise.resolve(heartbeats?.stop()).then(() => endLife(queries, id));
      await within(END_TIMEOUT_MS, freed).catch((error) =>
        log.warn("the shards couldn't be freed; others take them in a moment", { error }),
      );
    },
  };
}
