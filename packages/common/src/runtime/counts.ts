/** Counts by key. A key whose count is zero takes no memory. */
export class Counts<Key> {
  readonly #counts = new Map<Key, number>();

  of(key: Key): number {
    return this.#counts.get(key) ?? 0;
  }

  /** @returns the count then; throws an error if it would be negative */
  add(key: Key, by = 1): number {
    const count = this.of(key) + by;
    if (count < 0) throw new Error("More is taken away than was added.");
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
    return count;
  }
}
