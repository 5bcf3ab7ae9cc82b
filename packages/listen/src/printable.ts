/** A text without the control characters that could steer the terminal, on one line. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}|\p{Cf}/gu, (character) =>
    /[\t\n\r]/.test(character) ? " " : `\\u${character.codePointAt(0)?.toString(16).padStart(4, "0")}`,
  );
}
