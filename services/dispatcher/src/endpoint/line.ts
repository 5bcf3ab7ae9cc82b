import { ARRIVAL } from "@herald/common/broker/arrival";
import type { Delivery, DueRow } from "../sql/describe-deliveries.ts";
import { BEGINNING, type Demand } from "../sql/read-due.ts";
import type { Memory } from "./memory.ts";

/** New deliveries of an endpoint that are kept at most. */
const MAX_READY = 500;

export interface Times {
  /** The time, by PostgreSQL's clock. */
  nowMs: () => number;
  /** Whether a row may be attempted at a time: also if it is later than any retry can be, since PostgreSQL's clock was set back. */
  isDue: (row: { dueAt: Date }, nowMs: number) => boolean;
}

/** The rows of an endpoint's backlog that its line wants. */
export interface Reading extends Omit<Demand, "endpointId" | "shard" | "epoch"> {
  /** When it began. A row that becomes due later is read when it is due. */
  atMs: number;
  /** The previous owner crashed: the oldest due rows count one interruption more before they are read. The reader sets this to false then. */
  countInterruptions: boolean;
  /** Whether the delivery is due, and not in memory. */
  isWanted: (row: DueRow) => boolean;
}

/** What became of a delivery that a message brought: it waits in memory, was there already, or is left to PostgreSQL. */
export type HandedOver = "kept" | "known" | "left";

export interface BacklogPage {
  /** The rows that were read, in their order, also known ones and those that are not due yet. */
  rows: DueRow[];
  /** The due deliveries that were not known. */
  deliveries: Delivery[];
}

/**
 * The deliveries of one endpoint whose attempts have not begun: those in memory, in their order, and what is known of the others, which PostgreSQL has.
 * An endpoint that falls behind keeps a few in memory, and reads on from its cursor.
 */
export class Line {
  readonly #memory: Memory;
  readonly #times: Times;
  readonly #ready: Delivery[] = [];
  /** Whether PostgreSQL may have due rows that are not in memory. */
  #hasMore = false;
  /** Whether PostgreSQL has due rows that are older than what is handed over: a page was full, or a delivery had no room in memory. */
  #isBehind = false;
  /** All rows up to here are in memory, or have ended. */
  #cursor: Reading["after"] = BEGINNING;
  #isReading = false;
  /** Rows were stored during the reading, which may have missed them. */
  #again = false;
  #nextDueMs: number | undefined;
  /** The previous owner of the shard crashed, and the interruptions are not counted yet. */
  #countInterruptions = false;

  constructor(memory: Memory, times: Times) {
    this.#memory = memory;
    this.#times = times;
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  get isBehind(): boolean {
    return this.#isBehind;
  }

  get isUnread(): boolean {
    return this.#hasMore && !this.#isReading;
  }

  get isEmpty(): boolean {
    return !this.hasReady && !this.isUnread;
  }

  get untilDueMs(): number | undefined {
    return this.#nextDueMs === undefined ? undefined : this.#nextDueMs - this.#times.nowMs();
  }

  /**
   * Looks at the first delivery that may be attempted, without removing it. Before that, deliveries whose events arrived more than a second ago, and are
   * perhaps not stored yet, are left to PostgreSQL.
   */
  peek(): Delivery | undefined {
    for (;;) {
      const [first] = this.#ready;
      if (!first?.arrived || this.#times.nowMs() - first.dueAt.getTime() <= ARRIVAL.unstoredMs) return first;
      this.removeFirst();
      this.leave(first);
    }
  }

  removeFirst(): void {
    const delivery = this.#ready.shift();
    if (delivery) this.#memory.release(delivery);
  }

  /**
   * Takes in a delivery that a message brought. It is kept while rows are read, too: what is known is not taken from a page. Behind a backlog, it is
   * read in its turn.
   */
  handOver(delivery: Delivery): HandedOver {
    if (delivery.arrived ? this.#memory.has(delivery) : this.#memory.stored(delivery)) return "known";
    if (this.#ready.length >= MAX_READY || !this.#memory.hasRoomFor(delivery)) this.#isBehind = true;
    if (this.#isBehind) {
      this.wantMore();
      return "left";
    }
    this.add([delivery]);
    return "kept";
  }

  /** Adds new deliveries at the end, whatever their number. */
  add(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) {
      this.#memory.add(delivery);
      this.#memory.hold(delivery);
      this.#ready.push(delivery);
    }
  }

  /** A delivery whose attempt was not made waits again, before the others. */
  putBack(delivery: Delivery): void {
    this.#memory.hold(delivery);
    this.#ready.unshift(delivery);
  }

  /** PostgreSQL has rows that are due, or will in a moment. */
  wantMore(): void {
    this.#hasMore = true;
    this.#again ||= this.#isReading;
  }

  /** A delivery that was taken is left to PostgreSQL: its row is read again, if there is one. */
  leave(delivery: Delivery): void {
    this.#memory.forget(delivery);
    this.wantMore();
  }

  /** A delivery that was taken is no concern of this owner any more. */
  forget(delivery: Delivery): void {
    this.#memory.forget(delivery);
  }

  settled(delivery: Delivery, nextAttemptAt: Date | null): void {
    this.#memory.ended(delivery);
    if (nextAttemptAt) this.#expect(nextAttemptAt);
    this.lookForRetries();
  }

  /** A sweep has found this row, the first of the endpoint. */
  found(row: { dueAt: Date }, { crashed }: { crashed: boolean }): void {
    this.#countInterruptions ||= crashed;
    // The due row may be in flight already; look for others behind it instead of waiting for it.
    if (this.#times.isDue(row, this.#times.nowMs())) this.wantMore();
    else this.#expect(row.dueAt);
    this.lookForRetries();
    // A slow statement may have stored rows behind the cursor.
    if (!this.#isReading) this.#cursor = BEGINNING;
  }

  lookForRetries(): void {
    if (this.#nextDueMs === undefined || this.#nextDueMs > this.#times.nowMs()) return;
    this.#nextDueMs = undefined;
    this.wantMore();
  }

  /** Begins to read rows: `inFlight` more from the beginning on, where the rows of attempts in flight may be. */
  beginReading(count: number, inFlight: number): Reading {
    this.#isReading = true;
    this.#again = false;
    const atMs = this.#times.nowMs();
    return {
      atMs,
      count: count + (this.#cursor === BEGINNING ? inFlight : 0),
      after: this.#cursor,
      countInterruptions: this.#countInterruptions,
      isWanted: (row) => this.#times.isDue(row, atMs) && !this.#memory.has(row),
    };
  }

  /** Takes in the rows; undefined if they could not be read: then a sweep comes back to the endpoint. */
  endReading({ count, atMs, countInterruptions }: Reading, page: BacklogPage | undefined): void {
    const { rows, deliveries } = page ?? { rows: [], deliveries: [] };
    this.#isReading = false;
    this.#countInterruptions &&= countInterruptions;
    const due = rows.filter((row) => this.#times.isDue(row, atMs));
    const future = rows.find((row) => !this.#times.isDue(row, atMs));
    const isAll = due.length < count;
    // A full page of rows that are in memory, or in flight, says nothing about those behind it.
    this.#isBehind = !isAll && (this.#isBehind || deliveries.length > 0);
    this.#hasMore = !isAll || this.#again;
    this.#cursor = (isAll ? undefined : due.at(-1)) ?? BEGINNING;
    if (future) this.#expect(future.dueAt);
    this.add(deliveries.filter((delivery) => !this.#memory.has(delivery)));
  }

  drop(): void {
    for (const delivery of this.#ready.splice(0)) {
      this.#memory.forget(delivery);
      this.#memory.release(delivery);
    }
  }

  #expect(dueAt: Date): void {
    this.#nextDueMs = Math.min(this.#nextDueMs ?? Number.POSITIVE_INFINITY, dueAt.getTime());
  }
}
