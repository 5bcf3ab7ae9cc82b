/**
 * The timestamp header as a number of seconds, or null where the text is not one: non-empty, decimal, at most 16
 * characters, and exactly what that number prints as, so that no two texts mean the same moment (SPEC 4.4.3).
 */
export function parseTimestamp(text: string): number | null {
  if (!/^[0-9]{1,16}$/.test(text)) return null;
  const seconds = Number(text);
  return Number.isSafeInteger(seconds) && String(seconds) === text ? seconds : null;
}
