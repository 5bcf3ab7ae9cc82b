/** How numbers and times are written for the person who looks at the page. The words around them are English. */
export interface Formats {
  /** A count: "1,303", "1.303". */
  number(value: number): string;
  /** With one digit behind the point: "1.3", "1,3". */
  decimal(value: number): string;
  /** A moment in the browser's zone, with its offset: "11/20/2026, 3:03:22 PM GMT+1". */
  dateTime(iso: string, options?: { milliseconds: boolean }): string;
  /** The hour of a day in the browser's zone, as charts have it: "2:00 PM", "14:00". */
  hour(timeMs: number): string;
  /** The same of a day: "11/20", "20.11.". */
  day(timeMs: number): string;
}

/**
 * @param languages those of the browser, the preferred one first.
 * @param timeZone that of the browser where it is left out.
 */
export function formatsFor(languages: readonly string[], timeZone?: string): Formats {
  const locales = [...languages];
  const zone = timeZone === undefined ? {} : { timeZone };
  const number = new Intl.NumberFormat(locales);
  const decimal = new Intl.NumberFormat(locales, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  // In digits alone: the name of a month would be a word of another language.
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
    number: (value) => number.format(value),
    decimal: (value) => decimal.format(value),
    dateTime: (iso, options) => (options?.milliseconds ? milliseconds : seconds).format(new Date(iso)),
    hour: (timeMs) => hour.format(new Date(timeMs)),
    day: (timeMs) => day.format(new Date(timeMs)),
  };
}

/** Those of the browser; without one, as in unit tests, those of English and UTC. */
export const formats = typeof document === "undefined" ? formatsFor(["en-US"], "UTC") : formatsFor(navigator.languages);
