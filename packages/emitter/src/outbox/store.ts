import type { Row } from "./rows.ts";

/** What waits in an outbox. Counts end at {@link COUNTED_AT_MOST}. */
export interface OutboxLag {
  waiting: number;
  /** How long ago the oldest of them was added; null where nothing waits. */
  oldestSeconds: number | null;
  /** Rows that can't be sent, with the reason in `refused`. */
  refused: number;
}

export const COUNTED_AT_MOST = 10_000;

/** What a relay does with its table while it has the lock. */
export interface LockedOutbox {
  /** @param after the number behind which they are */
  waiting(limit: number, after: string): Promise<Row[]>;
  markSent(numbers: readonly string[]): Promise<void>;
  setAside(refused: readonly { number: string; reason: string }[]): Promise<void>;
}

/** What a relay needs of an outbox, whatever the database is. */
export interface OutboxStore {
  /** Does work as the only one that sends from this table; undefined, without having done it, while another relay does. */
  locked<Result>(work: (outbox: LockedOutbox) => Promise<Result>): Promise<Result | undefined>;
  /** Erases one step of what was sent so long ago; the number of rows. */
  erase(options: { keptSeconds: number; limit: number }): Promise<number>;
  /** Makes what was sent since then wait again, in steps; the number of rows. */
  replay(options: { since: Date; stepRows: number; onStep?: (rows: number) => void }): Promise<number>;
  lag(): Promise<OutboxLag>;
}
