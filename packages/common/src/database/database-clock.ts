import { type Clock, machineClock } from "../runtime/clock.ts";

/** PostgreSQL's answer to the question for its time. All fields are in milliseconds; the first and the last are of the monotonic clock. */
export interface TimeReading {
  askedMs: number;
  /** Since 1970. PostgreSQL read it at some moment between question and answer. */
  databaseMs: number;
  answeredMs: number;
}

/** PostgreSQL was not reached since the process began, so its time is not known. */
export class TimeUnknownError extends Error {
  override name = "TimeUnknownError";
  override message = "PostgreSQL has not said its time yet.";
}

export type DatabaseClock = ReturnType<typeof createDatabaseClock>;

/** How much one clock may gain on another: 500 ppm, the most that the kernel lets NTP correct. So the bounds get wider with time. */
const DRIFT = 500e-6;

/** A clock that was set back by less is waited for; with more, times would stand still for too long. */
const STEP_BACK_MS = 1_000;

/** The bounds of the offset between PostgreSQL's time and the monotonic clock. */
interface Bounds {
  low: number;
  high: number;
}

/**
 * PostgreSQL's time in this process: the monotonic clock, and its offset to PostgreSQL's answers. So all processes use one clock, and
 * a wrong or changed time of day on their machines does not matter.
 *
 * Each answer gives two bounds of the offset: PostgreSQL's time less the moment of the question, and less the moment of the answer. The known
 * bounds are the intersection of all answers. It widens slowly ({@link DRIFT}). The offset is the middle of the narrowest answer; an
 * answer that took longer changes it no more than its bounds require.
 *
 * If the bounds of an answer do not overlap the known ones, PostgreSQL's clock was set, another server has become the primary, or this
 * machine slept: the new offset is used at once. If time would go back by less than {@link STEP_BACK_MS}, `now()` stands still until it
 * is reached; by more, it jumps back.
 */
export function createDatabaseClock(machine: Clock = machineClock) {
  let offset: (Bounds & { likely: number; atMs: number }) | undefined;
  let latestMs = Number.NEGATIVE_INFINITY;
  let becomeKnown = () => {};
  const known = new Promise<void>((resolve) => {
    becomeKnown = resolve;
  });

  function offsetAt(atMs: number): Bounds & { likely: number } {
    if (offset === undefined) throw new TimeUnknownError();
    const widerMs = (atMs - offset.atMs) * DRIFT;
    return { low: offset.low - widerMs, high: offset.high + widerMs, likely: offset.likely };
  }

  return {
    known,
    isKnown: () => offset !== undefined,
    monotonicMs: machine.monotonicMs,
    /** Never waits. @throws TimeUnknownError before the first answer */
    now() {
      const atMs = machine.monotonicMs();
      const ms = atMs + offsetAt(atMs).likely;
      if (ms > latestMs || ms < latestMs - STEP_BACK_MS) latestMs = ms;
      return new Date(latestMs);
    },
    update({ askedMs, databaseMs, answeredMs }: TimeReading) {
      const read = { low: databaseMs - answeredMs, high: databaseMs - askedMs };
      const known = offset && offsetAt(answeredMs);
      const both = known && { low: Math.max(known.low, read.low), high: Math.min(known.high, read.high) };
      if (known === undefined || both === undefined || both.low > both.high) {
        offset = { ...read, likely: middle(read), atMs: answeredMs };
      } else {
        const best = width(read) < width(known) ? middle(read) : known.likely;
        offset = { ...both, likely: Math.min(both.high, Math.max(both.low, best)), atMs: answeredMs };
      }
      becomeKnown();
    },
    /** By how much the machine's time of day is ahead of PostgreSQL's, as far as that is certain; negative if it is behind. */
    machineAheadMs() {
      const atMs = machine.monotonicMs();
      const { low, high } = offsetAt(atMs);
      const ofMachine = machine.now().getTime() - atMs;
      // `Date` leaves out fractions of a millisecond, so the machine's time may be up to 1 ms later than it says.
      return Math.min(0, ofMachine + 1 - low) + Math.max(0, ofMachine - high);
    },
  };
}

const width = ({ low, high }: Bounds) => high - low;
const middle = ({ low, high }: Bounds) => (low + high) / 2;
