import { storedName } from "@herald/contracts";

type Formats = ReturnType<typeof formatsFor>;

/** How numbers and times are written for the person who looks at the page. The words around them are English. */
export function formatsFor(languages: readonly string[], timeZone?: string) {
  const locales = languages.filter(isLanguage);
  const zone = timeZone === undefined ? {} : { timeZone };
  const number = new Intl.NumberFormat(locales);
  const decimal = new Intl.NumberFormat(locales, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  // The date has digits only: the name of a month would be a word of another language.
  const moment: Intl.DateTimeFormatOptions = {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "numeric",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "shortOffset",
    ...zone,
  };
  const seconds = new Intl.DateTimeFormat(locales, moment);
  const milliseconds = new Intl.DateTimeFormat(locales, { ...moment, fractionalSecondDigits: 3 });
  const hour = new Intl.DateTimeFormat(locales, { hour: "numeric", minute: "2-digit", ...zone });
  const day = new Intl.DateTimeFormat(locales, { month: "numeric", day: "numeric", ...zone });
  return {
    number: (value: number) => number.format(value),
    decimal: (value: number) => decimal.format(value),
    /** A moment in the browser's zone, with its offset: "11/20/2026, 3:03:22 PM GMT+1". */
    dateTime: (iso: string, options?: { milliseconds: boolean }) =>
      (options?.milliseconds ? milliseconds : seconds).format(new Date(iso)),
    /** The hour of a day in the browser's zone, as charts have it: "2:00 PM", "14:00". */
    hour: (timeMs: number) => hour.format(new Date(timeMs)),
    /** That zone's offset at a time: "GMT+1", "UTC". */
    zone: (timeMs: number) =>
      seconds.formatToParts(timeMs).find(({ type }) => type === "timeZoneName")?.value ?? "local time",
    /** A day in the same zone: "11/20", "20.11.". */
    day: (timeMs: number) => day.format(new Date(timeMs)),
  };
}

/** The formats of the browser's languages; in unit tests, which have no browser, American English in UTC. */
export const formats = typeof document === "undefined" ? formatsFor(["en-US"], "UTC") : formatsFor(navigator.languages);

/** On a system with LANG=C, browsers name languages that `Intl` refuses, such as "en-US@posix". */
function isLanguage(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length > 0;
  } catch {
    return false;
  }
}

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

/** Time left until something is due: "in 42 s", "in 7:05"; "due now" once it has passed (a due time is not a promise). */
export function countdown(dueMs: number, nowMs: number): string {
  const seconds = Math.ceil((dueMs - nowMs) / SECOND);
  if (seconds <= 0) return "due now";
  if (seconds < 60) return `in ${seconds} s`;
  if (seconds >= 3_600) return `in ${span(seconds * SECOND)}`;
  return `in ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** The same in every browser, as API and logs have it: "2026-11-20T14:03:22.187Z". */
export function exact(iso: string): string {
  return new Date(iso).toISOString();
}

export function duration(lengthMs: number, { decimal, number }: Formats = formats): string {
  if (lengthMs < SECOND) return `${Math.round(lengthMs)} ms`;
  const seconds = lengthMs / SECOND;
  return `${seconds < 9.95 ? decimal(seconds) : number(Math.round(seconds))} s`;
}

/** A text as one compares it with what a person types: letters of any case and width, single spaces. */
export function folded(text: string): string {
  return storedName(text.normalize("NFKC")).toLocaleLowerCase();
}

export function counted(count: number, one: string, many: string): string {
  return `${formats.number(count)} ${count === 1 ? one : many}`;
}

/** "1,303 attempts today: 1,300 succeeded, 3 failed"; leaves out zeros. */
export function tally(counts: Record<string, number>, one: string, many: string, period: string): string {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (all === 0) return `No ${many} ${period}`;
  const parts = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([outcome, count]) => `${formats.number(count)} ${outcome}`);
  return `${counted(all, one, many)} ${period}: ${parts.join(", ")}`;
}
