import type { FieldProblem } from "@herald/contracts";
import type { Schema } from "@herald/contracts/schemas";

/** Query parameters as they come: text, or a list if one is repeated. */
export type RawQuery = Readonly<Record<string, unknown>>;

const INTEGER = /^-?(?:0|[1-9]\d*)$/;

/**
 * Reads query parameters as the types that their schemas ask for. A text that doesn't say such a value, such as `0x10` for an
 * integer, stays text: the schema then refuses it. An id gets the spelling that PostgreSQL gives it.
 */
export function readQuery(query: RawQuery, parameters: Readonly<Record<string, Schema>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, readAs(parameters[name], value)]));
}

function readAs(schema: Schema | undefined, value: unknown): unknown {
  if (schema?.type === "array") return [value].flat().map((item) => readAs(schema.items as Schema, item));
  if (typeof value !== "string") return value;
  if (schema?.type === "integer" && INTEGER.test(value)) return Number(value);
  if (schema?.format === "uuid") return value.toLowerCase();
  if (schema?.type === "boolean" && /^(?:true|false)$/.test(value)) return value === "true";
  return value;
}

/** A parameter that isn't known is refused: a filter with a misspelt name would silently filter nothing. */
export function unknownParameters(query: RawQuery, known: readonly string[]): FieldProblem[] {
  return Object.keys(query)
    .filter((name) => !known.includes(name))
    .map((parameter) => ({
      parameter,
      code: "unknown_parameter",
      detail: whatIsTaken(parameter, known, "query parameters"),
    }));
}

/** The message about an unknown name: it has the name that it resembles, and all known names. */
export function whatIsTaken(name: string, known: readonly string[], what: string): string {
  if (known.length === 0) return `This takes no ${what}.`;
  const meant = known.find((each) => bare(each) === bare(name));
  return `${meant === undefined ? "" : `Did you mean ${meant}? `}This takes ${known.join(", ")}.`;
}

/** A name as a slip leaves it: without capitals, separators and the s of a plural. */
function bare(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "")
    .replace(/s$/, "");
}

/** A time span that ends before it begins is a mistake, and would be an empty answer. Both times have been checked. */
export function periodFault({ from, to }: Readonly<Record<string, unknown>>): FieldProblem[] {
  if (typeof from !== "string" || typeof to !== "string" || Date.parse(from) <= Date.parse(to)) return [];
  return [{ parameter: "from", code: "out_of_range", detail: "This is later than `to`: exchange the two." }];
}
