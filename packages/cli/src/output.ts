/** Rows under their headings, in columns as wide as their longest text, each line with its line break. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((row) => row[column]?.length ?? 0)));
  const lineOf = (row: readonly string[]) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  ");
  return lines.map((row) => `${lineOf(row).trimEnd()}\n`).join("");
}

/** A text for a cell of a table: without line breaks, and at most 120 characters. */
export function oneLine(text: string): string {
  const line = printable(text.replaceAll(/\s/g, " "));
  return line.length > 120 ? `${line.slice(0, 117)}...` : line;
}

/**
 * Escapes what can steer a terminal or deceive its reader: control characters other than tab and line feed, marks of direction, invisible characters
 * and other ends of lines. JSON stays JSON of the same value.
 */
export function printable(text: string): string {
  return text.replaceAll(/(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character.split("").reduce((shown, unit) => `${shown}\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`, ""),
  );
}

export function plural(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** A count that was not counted further than `most`. */
export function counted(count: number, most: number): string {
  return count >= most ? `${count} or more` : String(count);
}

/** How often progress is written into a log, where each line stays. */
const LINE_EVERY_SECONDS = 5;
/** A narrow terminal would wrap a longer line, and then could not write over it. */
const MAX_CHARACTERS = 79;
const CLEAR_LINE = "\r\u001b[K";

/**
 * Shows the person who waits for a command what it is doing: on a terminal one line that changes, elsewhere a line now and then.
 * A command that ends within a second shows nothing.
 */
export function createProgress(name: string, write: (text: string) => void, isTerminal: boolean) {
  let seconds = 0;
  let text: string | undefined;
  let isShown = false;
  return {
    /** Sets what the command is doing now, in a few words. */
    say: (now: string) => {
      text = now;
    },
    /** Takes the line off the terminal, so that something else can be written. */
    clear() {
      if (isShown) write(CLEAR_LINE);
      isShown = false;
    },
    /** Is called once a second. */
    tick() {
      seconds++;
      if (text === undefined || (!isTerminal && seconds % LINE_EVERY_SECONDS > 0)) return;
      const whole = `${name}: ${text} (${seconds} s)`;
      const line = whole.length > MAX_CHARACTERS ? `${whole.slice(0, MAX_CHARACTERS - 3)}...` : whole;
      write(isTerminal ? `${CLEAR_LINE}${line}` : `${line}\n`);
      isShown = isTerminal;
    },
  };
}
