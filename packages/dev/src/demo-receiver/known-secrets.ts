/** The signing secrets that signatures are verified with: those that were added, and those that can be read. */
export interface KnownSecrets {
  current(): readonly string[];
  add(secret: string): void;
  /** Reads again; the promise is of a reading that began after the call. */
  refresh(): Promise<void>;
}

/**
 * Secrets change with every new endpoint and every rotation, so they are read again when none fits. However many requests
 * ask for that, one reading runs at a time.
 */
export function knownSecrets(read: () => Promise<readonly string[]> | readonly string[]): KnownSecrets {
  const added = new Set<string>();
  let found: readonly string[] = [];
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  const start = () => {
    running = Promise.resolve()
      .then(read)
      .then((secrets) => {
        found = secrets;
      })
      .finally(() => {
        running = null;
      });
    return running;
  };

  return {
    current: () => [...new Set([...added, ...found])],
    add: (secret) => void added.add(secret),
    refresh() {
      if (!running && !next) return start();
      next ??= (running ?? Promise.resolve())
        .catch(() => {})
        .then(() => {
          next = null;
          return start();
        });
      return next;
    },
  };
}
