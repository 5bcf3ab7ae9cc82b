/** Makes a task run at most once in a period. Calls within the period, or while the task runs, get the same answer. */
export function atMostEach<T>(periodMs: number, task: () => Promise<T>): () => Promise<T> {
  let latest: { begunAt: number; result: Promise<T> } | undefined;
  return () => {
    const now = performance.now();
    if (latest === undefined || now - latest.begunAt >= periodMs) latest = { begunAt: now, result: task() };
    return latest.result;
  };
}
