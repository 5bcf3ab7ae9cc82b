import { useSyncExternalStore } from "react";
import { serverNow } from "../../api/connection.ts";

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer for every time on the page; none while the page is hidden or shows no time. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  if (document.hidden) return;
  for (const listener of listeners) listener();
}

/**
 * A text or number that depends on the time, checked every second; the component renders again only when it changes.
 * @param read gets the server's idea of now, in ms since the epoch.
 */
export function useTicking<T extends string | number | boolean>(read: (nowMs: number) => T): T {
  return useSyncExternalStore(subscribe, () => read(serverNow()));
}
