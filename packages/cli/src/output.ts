/** Rows under their headings, in columns as wide as their longest text, each line with its line break. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((row) => row[column]?.length ?? 0)));
  const lineOf = (row: readonly string[]) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  ");
  return lines.map((row) => `${lineOf(row).trimEnd()}\n`).join("");
}

export function factsTable(what: string, id: string, facts: string[][]): string {
  return table(
    [what, id],
    facts.map((row) => row.map(oneLine)),
  );
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
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  // A character beyond U+FFFF is two units.
  return text.replaceAll(/(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => character.replaceAll(/./gs, escaped));
}

export function plural(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

export function counted(count: number, most: number): string {
  return count >= most ? `${count} or more` : String(count);
}
