import type { DeduplicationStore } from "./deduplicator.ts";

/**
 * Remembers the last `capacity` events in this process, oldest forgotten first. For tests and for effects that do no
 * harm when repeated: a restart forgets all, and a second process knows nothing of it.
 */
export function memoryStore({ capacity = 100_000 } = {}): DeduplicationStore<void> {
  const remembered = new Map<string, Promise<boolean>>();

  return {
    async once(endpoint, key, persist) {
      const pair = JSON.stringify([endpoint, key]);
      for (let earlier = remembered.get(pair); earlier; earlier = remembered.get(pair)) {
        if (await earlier) return false;
      }
      const attempt = persist().then(
        () => true,
        (error) => {
          remembered.delete(pair);
          throw error;
        },
      );
      // A call that waits for this one learns only that it failed; this one's caller gets the error.
      remembered.set(
        pair,
        attempt.catch(() => false),
      );
      if (remembered.size > capacity) remembered.delete(remembered.keys().next().value as string);
      return attempt;
    },
  };
}
