import { setTimeout as sleep } from "node:timers/promises";

/**
 * The result of the work, or `late` if that takes longer than `ms`. The work goes on; its failure is ignored then.
 *
 * @throws what the work throws in time
 */
export async function within<T, Late>(ms: number, work: Promise<T>, late: Late): Promise<T | Late> {
  const over = new AbortController();
  const deadline = sleep(ms, late, { signal: over.signal, ref: false }).catch(() => late);
  try {
    return await Promise.race([work, deadline]);
  } finally {
    over.abort();
  }
}
