import { type Formats, formats } from "../formats.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago, in the coarsest unit that still informs: "just now", "42 s ago", "7 min ago", "3 h ago", "12 d ago". */
export function ago(timeMs: number, nowMs: number): string {
  const age = nowMs - timeMs;
  return age < 5 * SECOND ? "just now" : `${span(age)} ago`;
}

/** A length of time in its coarsest unit, rounded down: "42 s", "7 min", "3 h", "12 d". */
export function span(lengthMs: number): string {
  if (lengthMs < MINUTE) return `${Math.max(0, Math.floor(lengthMs / SECOND))} s`;
  if (lengthMs < HOUR) return `${Math.floor(lengthMs / MINUTE)} min`;
  if (lengthMs < 2 * DAY) return `${Math.floor(lengthMs / HOUR)} h`;
  return `${Math.floor(lengthMs / DAY)} d`;
}

/** Time left until something is due: "in 0:42", "in 7:05"; "due now" once it has passed (a due time is not a promise). */
export function countdown(dueMs: number, nowMs: number): string {
  const seconds = Math.ceil((dueMs - nowMs) / SECOND);
  if (seconds <= 0) return "due now";
  if (seconds >= 3_600) return `in ${span(seconds * SECOND)}`;
  return `in ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** The same for everybody, as API and logs have it: "2026-11-20T14:03:22.187Z". */
export function exact(iso: string): string {
  return new Date(iso).toISOString();
}

/** How long an attempt took: "84 ms", "1.3 s", "15 s". */
export function duration(lengthMs: number, { decimal, number }: Formats = formats): string {
  if (lengthMs < SECOND) return `${Math.round(lengthMs)} ms`;
  const seconds = lengthMs / SECOND;
  return `${seconds < 9.95 ? decimal(seconds) : number(Math.round(seconds))} s`;
}
