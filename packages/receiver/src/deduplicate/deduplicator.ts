/** Where accepted events are remembered. `Transaction` is what `persist` gets to write with. */
export interface DeduplicationStore<Transaction> {
  /**
   * Remembers (endpoint, key) and runs `persist`, both or neither, unless the pair is remembered already. Of several
   * calls at once with one pair, one runs `persist` and the others wait for how it ends.
   *
   * @returns whether `persist` ran
   */
  once(endpoint: string, key: string, persist: (transaction: Transaction) => Promise<void>): Promise<boolean>;
}

export type Acceptance = "accepted" | "duplicate";

/**
 * Accepts each event once per endpoint (SPEC 4.4.6 and 4.4.7): `persist` writes down what the application needs, and
 * only after that may the sender be answered. A duplicate is success, with nothing to do. Where `persist` throws, nothing
 * is remembered, the error goes to the caller, and the sender's next attempt starts afresh.
 *
 * The key is the `eventId` of the verified request, or for manual payloads, which have none, an idempotency key out of
 * the payload's own schema. The delivery-id header is not signed, so it is no key.
 *
 * ```ts
 * const acceptOnce = deduplicator(postgresStore({ pool }));
 * receive: async (webhook) => {
 *   await acceptOnce("orders", webhook.eventId, (client) => client.query("insert into inbox ...", [...]));
 * }
 * ```
 *
 * @throws TypeError if the key is missing or the endpoint's name is empty
 */
export function deduplicator<Transaction>(store: DeduplicationStore<Transaction>) {
  return async (
    endpoint: string,
    key: string | null,
    persist: (transaction: Transaction) => Promise<unknown>,
  ): Promise<Acceptance> => {
    if (!endpoint) throw new TypeError("deduplicator: name the endpoint, since event ids are unique only within one");
    if (!key)
      throw new TypeError("deduplicator: this request has no event id; give an idempotency key of its own schema");
    const ran = await store.once(endpoint, key, async (transaction) => {
      await persist(transaction);
    });
    return ran ? "accepted" : "duplicate";
  };
}

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
