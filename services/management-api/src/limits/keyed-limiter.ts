import type { ProblemError } from "../problems/problem-error.ts";

export interface KeyedLimiterOptions {
  /** How many tasks of one key run at once; as many as there are where it isn't set. */
  perKey?: number;
  /** How many tasks of all keys together run at once; as many as there are where it isn't set. */
  together?: number;
  /** How long a task waits before it is refused. */
  maxWaitMs: number;
  /** What a task is refused with. */
  refusal: () => ProblemError;
}

/** Limits how many tasks run at once. The others wait, and hold nothing. */
export interface KeyedLimiter {
  /** @throws ProblemError where the task has waited too long; it was not started then */
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
}

interface TasksOfKey {
  running: number;
  /** How each that waits is started, oldest first, with its number in the order of all calls. */
  waiting: Map<() => void, number>;
}

/**
 * Of the tasks that wait, the next is one of the key that has the fewest running: a key with a thousand waiting tasks holds up
 * another one by no more than it has running. Tasks of one key run in the order of their calls.
 */
export function createKeyedLimiter(options: KeyedLimiterOptions): KeyedLimiter {
  const { perKey = Number.POSITIVE_INFINITY, together = Number.POSITIVE_INFINITY, maxWaitMs, refusal } = options;
  // Holds only keys that have a task, so it stays as small as the work under way.
  const byKey = new Map<string, TasksOfKey>();
  let running = 0;
  let calls = 0;

  function tasksOf(key: string): TasksOfKey {
    const known = byKey.get(key) ?? { running: 0, waiting: new Map() };
    byKey.set(key, known);
    return known;
  }

  function start(tasks: TasksOfKey): void {
    tasks.running++;
    running++;
  }

  async function acquire(key: string): Promise<void> {
    const tasks = tasksOf(key);
    if (tasks.running < perKey && running < together) {
      start(tasks);
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        tasks.waiting.delete(begin);
        forgetIdle(key, tasks);
        reject(refusal());
      }, maxWaitMs);
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      tasks.waiting.set(begin, ++calls);
    });
  }

  /** The place goes straight to a task that waits, so no later call can take it. */
  function release(key: string): void {
    const ended = tasksOf(key);
    ended.running--;
    running--;
    const next = nextOf([...byKey.values()].filter((tasks) => tasks.waiting.size > 0 && tasks.running < perKey));
    const [begin] = next?.waiting.keys() ?? [];
    if (next !== undefined && begin !== undefined) {
      next.waiting.delete(begin);
      start(next);
      begin();
    }
    forgetIdle(key, ended);
  }

  function forgetIdle(key: string, tasks: TasksOfKey): void {
    if (tasks.running === 0 && tasks.waiting.size === 0) byKey.delete(key);
  }

  return {
    async run(key, task) {
      await acquire(key);
      try {
        return await task();
      } finally {
        release(key);
      }
    },
  };
}

/** Of the keys with waiting tasks, the one with the fewest running, and among those the one whose task came first. */
function nextOf(candidates: readonly TasksOfKey[]): TasksOfKey | undefined {
  const oldest = ({ waiting }: TasksOfKey) => waiting.values().next().value ?? 0;
  return candidates.reduce<TasksOfKey | undefined>((best, tasks) => {
    if (best === undefined || tasks.running < best.running) return tasks;
    return tasks.running === best.running && oldest(tasks) < oldest(best) ? tasks : best;
  }, undefined);
}
