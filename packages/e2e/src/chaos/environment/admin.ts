import { createHash } from "node:crypto";
import { type ApiClient, apiClient } from "../../herald/api-client.ts";
import { type Character, type Period, repairMs } from "../plan/tenants.ts";
import type { Disabling, History } from "../verdict/history.ts";

export interface AdminEndpoint {
  number: number;
  id: string;
  organizationId: string;
  character: Character;
}

export interface AdminOptions {
  seed: number;
  endpoints: readonly AdminEndpoint[];
  /** When the endpoints that get paused are paused, after the start. */
  pauses: readonly Period[];
  /** Whether they also deliver payloads to steady endpoints. */
  manual: boolean;
  /** Where one of the management APIs of an organization is; another one each time. */
  apiUrl: () => string;
  pause: (durationMs: number) => Promise<void>;
}

const CALL_TIMEOUT_MS = 8_000;
const ROUND_MS = 700;

/**
 * Starts the admins of the run's organizations, who look after their endpoints through the API whatever happens to it: they pause and resume them,
 * resume those that Herald disabled, and deliver payloads.
 */
export async function startAdmin(options: AdminOptions) {
  const { seed, endpoints, pauses, apiUrl, pause } = options;
  const begunAt = Date.now();
  const disablings: Disabling[] = [];
  const manual: History["manual"] = [];
  let finishing = false;
  let stopped = false;

  const organizations = [...new Set(endpoints.map(({ organizationId }) => organizationId))];
  const clients = new Map<string, ApiClient>();
  for (const id of organizations) {
    clients.set(id, await apiClient(apiUrl, id, { timeoutMs: CALL_TIMEOUT_MS }));
  }

  async function call<T>(task: () => Promise<T>): Promise<T | undefined> {
    try {
      return await task();
    } catch {
      return undefined;
    }
  }

  async function lookAfter(endpoint: AdminEndpoint): Promise<void> {
    const client = clients.get(endpoint.organizationId) as ApiClient;
    /** Known to be disabled and not yet asked to be resumed. */
    let disabling: Disabling | undefined;
    /** Asked for, and not known to have happened: it may still. */
    let pausing = false;
    let resumeAt = 0;
    let nth = 0;

    async function pauseIt(): Promise<void> {
      pausing = true;
      if (await call(() => client.edit(endpoint.id, { enabled: false }))) noticeDisabling("admin");
    }

    function noticeDisabling(by: Disabling["by"]): void {
      const from = Date.now();
      disabling = { endpointId: endpoint.id, by, from, until: Number.MAX_SAFE_INTEGER };
      disablings.push(disabling);
      nth++;
      resumeAt = from + (by === "admin" ? 0 : repairMs(seed, endpoint.number, nth));
    }

    async function resumeIt(): Promise<void> {
      // Asked again until it has happened: from the first request on it can happen at any time.
      if (disabling) disabling.until = Math.min(disabling.until, Date.now());
      const resumed = await call(() => client.edit(endpoint.id, { enabled: true }));
      if (!resumed) return;
      disabling = undefined;
      pausing = false;
    }

    while (!stopped) {
      const shouldPause = endpoint.character === "paused" && !finishing && isWithin(pauses, Date.now() - begunAt);
      const found = await call(() => client.get(endpoint.id));
      if (found?.enabled && disabling === undefined && shouldPause) await pauseIt();
      else if (found?.enabled) {
        // Resumed by a call whose answer was lost.
        if (disabling && disabling.until !== Number.MAX_SAFE_INTEGER) disabling = undefined;
      } else if (found && !disabling) noticeDisabling(pausing ? "either" : "herald");
      if (found && !found.enabled && !shouldPause && (finishing || Date.now() >= resumeAt)) await resumeIt();
      if (options.manual && endpoint.character === "steady" && !finishing) await deliver(client, endpoint);
      await pause(ROUND_MS);
    }
  }

  async function deliver(client: ApiClient, { id, number }: AdminEndpoint): Promise<void> {
    const sent = { manual: true, number, at: new Date().toISOString(), text: "naïve 🚀 </script>" };
    const payload = JSON.stringify(sent, null, 1);
    const summary = await call(() => client.deliver(id, "WorkItemCompleted", payload));
    if (!summary) return;
    const bodyHash = createHash("sha256").update(payload).digest("base64");
    manual.push({ deliveryId: summary.id, endpointId: id, bodyHash });
  }

  const looking = endpoints.map(lookAfter);
  return {
    disablings,
    manual,
    /** From now on nothing is paused any more and no payload sent, and what is disabled is resumed at once. */
    finish: () => {
      finishing = true;
    },
    async stop() {
      stopped = true;
      await Promise.all(looking);
    },
  };
}

function isWithin(periods: readonly Period[], atMs: number): boolean {
  return periods.some(({ fromMs, untilMs }) => atMs >= fromMs && atMs < untilMs);
}
