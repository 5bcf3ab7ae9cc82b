/** What is kept of a response's body, in bytes. */
export const EXCERPT_BYTES = 1024;

/**
 * Control characters other than tab and line breaks, NUL among them (PostgreSQL takes none), and the marks that turn
 * the direction of text round, with which a page would show something else than what is there.
 */
const HARMFUL = /(?![\t\n\r])\p{Cc}|\p{Bidi_Control}/gu;

/**
 * The start of a response's body as text that can be stored and shown: valid UTF-8, a character cut off at the end left
 * out, anything broken or harmful as U+FFFD.
 *
 * @returns null where there was no body
 */
export function responseExcerpt(chunks: readonly Uint8Array[]): string | null {
  if (chunks.length === 0) return null;
  const bytes = (chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks)).subarray(0, EXCERPT_BYTES);
  // Streaming, so that a cut character is waited for instead of being replaced.
  const text = new TextDecoder().decode(bytes, { stream: true }).replace(HARMFUL, "\uFFFD");
  return text === "" ? null : text;
}
