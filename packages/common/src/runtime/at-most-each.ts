/** A task that gives the same answer for so long, and to all who ask while it is under way. */
export function atMostEach<T>(periodMs: number, task: () => Promise<T>): () => Promise<T> {
  let latest: { begunAt: number; result: Promise<T> } | undefined;
  return () => {
    const now = performance.now();
    if (latest === undefined || now - latest.begunAt >= periodMs) latest = { begunAt: now, result: task() };
    return latest.result;
  };
}
