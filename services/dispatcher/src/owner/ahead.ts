import type { Endpoint } from "../endpoint/endpoint.ts";
import type { EndpointWithWork } from "../sql/read-due.ts";

/** Work comes this much late at most. */
const STEP_MS = 50;

/**
 * Keeps work that a sweep has found before it is due, and its time. A known endpoint keeps the time itself, but may be forgotten. Of an endpoint that
 * is not known, this takes less memory. `come` takes work whose time has come, unless the endpoint has known of it all the while.
 */
export function createAhead(nowMs: () => number, come: (work: EndpointWithWork) => void) {
  const byTime = new Map<number, Map<string, { work: EndpointWithWork; known: Endpoint | undefined }>>();
  return {
    /** @param known the endpoint, if it is known, and knows of the work */
    add(work: EndpointWithWork, known: Endpoint | undefined): void {
      const atMs = Math.ceil(work.dueAt.getTime() / STEP_MS) * STEP_MS;
      const waiting = byTime.get(atMs) ?? new Map();
      waiting.set(work.endpointId, { work, known });
      if (byTime.has(atMs)) return;
      byTime.set(atMs, waiting);
      const onTime = () => {
        byTime.delete(atMs);
        for (const { work, known } of waiting.values()) if (!known || known.isGone) come(work);
      };
      setTimeout(onTime, Math.max(0, atMs - nowMs())).unref();
    },
  };
}
