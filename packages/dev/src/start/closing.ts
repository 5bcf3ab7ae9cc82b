/** What has to be closed, in an order that lets each part finish what it does with the others. */
export interface Closing {
  /** Closed in the first round, together with all others of that round. */
  add(close: () => Promise<void>): void;
  /** Closed when all of the first round are. */
  addLast(close: () => Promise<void>): void;
  /** Closes everything; one that fails does not keep the others from being closed. */
  close(): Promise<void>;
}

export function closing(): Closing {
  const first: (() => Promise<void>)[] = [];
  const last: (() => Promise<void>)[] = [];
  let result: Promise<void> | undefined;
  return {
    add: (close) => void first.push(close),
    addLast: (close) => void last.push(close),
    close: () => {
      result ??= closeAll([first, last]);
      return result;
    },
  };
}

async function closeAll(rounds: (() => Promise<void>)[][]): Promise<void> {
  const failures: unknown[] = [];
  for (const round of rounds) {
    const results = await Promise.allSettled(round.map((close) => close()));
    failures.push(...results.flatMap((result) => (result.status === "rejected" ? [result.reason] : [])));
  }
  if (failures.length > 0) throw new AggregateError(failures, "Not everything could be closed.");
}
