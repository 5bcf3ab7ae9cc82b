/**
 * A parameter as text that PostgreSQL reads: arrays and dates, of which the busiest statements have thousands. What is not of the usual kinds is returned
 * as it is. pg would write it too, but walks each element four times and asks for the time zone at each date, for five times the memory.
 */
export function textOf(parameter: unknown): unknown {
  if (Array.isArray(parameter)) return arrayOf(parameter) ?? parameter;
  return parameter instanceof Date ? (timeOf(parameter) ?? parameter) : parameter;
}

function arrayOf(elements: readonly unknown[]): string | undefined {
  let text = "{";
  for (const [index, element] of elements.entries()) {
    const one = elementOf(element);
    if (one === undefined) return undefined;
    text += index === 0 ? one : `,${one}`;
  }
  return `${text}}`;
}

function elementOf(element: unknown): string | undefined {
  switch (typeof element) {
    case "string":
      return quoted(element);
    case "number":
    case "bigint":
    case "boolean":
      return String(element);
    case "undefined":
      return "NULL";
    default:
      if (element === null) return "NULL";
      return element instanceof Date ? timeOf(element) : undefined;
  }
}

const ESCAPED = /["\\]/;
/** What JSON also escapes, in another way than PostgreSQL. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
const CONTROL = /[\0-\x1f]/;

function quoted(text: string): string {
  if (!ESCAPED.test(text)) return `"${text}"`;
  // Much faster for an event's body, which is full of quotation marks.
  if (!CONTROL.test(text) && text.isWellFormed()) return JSON.stringify(text);
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** PostgreSQL does not read the form that other years have. */
const FOUR_DIGITS = /^(?!0000)\d{4}-/;

function timeOf(date: Date): string | undefined {
  const text = Number.isNaN(date.getTime()) ? "" : date.toISOString();
  return FOUR_DIGITS.test(text) ? text : undefined;
}
