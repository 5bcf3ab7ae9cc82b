import type { Log } from "@herald/common/telemetry/log";
import type { FailureKind } from "@herald/contracts";

const INTERVAL_MS = 60_000;

/** Hosts that a line names: those with the most failures. The others are summed. */
const MAX_HOSTS = 5;
/** Hosts that are counted by name. A tenant must not decide how much memory this takes. */
const MAX_COUNTED = 1_000;

type FailedAttempt = { failureKind: FailureKind | null; errorSummary: string | null };
export type FailureLog = ReturnType<typeof startFailureLog>;

/** Logs failed attempts in one line a minute, with counts by kind and host: a tenant whose receiver is dead must not decide how much is logged. */
export function startFailureLog(log: Log) {
  const kinds = new Map<string, number>();
  const hosts = new Map<string, { failed: number; lastError: string | null }>();
  let failed = 0;

  function write(): void {
    if (failed === 0) return;
    const most = [...hosts].sort(([, one], [, other]) => other.failed - one.failed).slice(0, MAX_HOSTS);
    const named = most.map(([host, of]) => ({ host, ...of }));
    const elsewhere = failed - most.reduce((sum, [, of]) => sum + of.failed, 0);
    const fields = { failed, kinds: Object.fromEntries(kinds), hosts: named, elsewhere };
    log.info("attempts failed within the last minute", fields);
    failed = 0;
    kinds.clear();
    hosts.clear();
  }

  const timer = setInterval(write, INTERVAL_MS).unref();
  return {
    count(url: string, { failureKind, errorSummary }: FailedAttempt): void {
      failed++;
      kinds.set(failureKind ?? "other", (kinds.get(failureKind ?? "other") ?? 0) + 1);
      const host = URL.parse(url)?.host ?? "";
      const known = hosts.get(host);
      if (known) Object.assign(known, { failed: known.failed + 1, lastError: errorSummary });
      else if (hosts.size < MAX_COUNTED) hosts.set(host, { failed: 1, lastError: errorSummary });
    },
    /** Logs what is left. */
    stop(): void {
      clearInterval(timer);
      write();
    },
  };
}
