/** Rows under their headings, in columns as wide as their longest text, each line with its line break. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  return [headings, ...rows]
    .map(
      (row) =>
        `${row
          .map((text, column) => text.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

/** A text for a cell of a table: without line breaks, and at most 120 characters. */
export function oneLine(text: string): string {
  const line = printable(text.replaceAll(/\s/g, " "));
  return line.length > 120 ? `${line.slice(0, 117)}...` : line;
}

/** Escapes control characters, so that the content of a broken event can't send commands to the operator's terminal. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point.
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
