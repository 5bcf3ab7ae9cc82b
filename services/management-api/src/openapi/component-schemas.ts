import type { Schema, SchemaName } from "@herald/contracts/schemas";
import { operationEntries } from "../operations.ts";
import { VERSION_PATTERN } from "../validation/opaque.ts";

/** Herald's own formats as patterns, for programs that read the document. The formats ask for more (`validation/formats.ts`). */
export const FORMAT_PATTERNS: Readonly<Record<string, string>> = {
  "webhook-name": "\\S",
  "webhook-url": "^[hH][tT][tT][pP][sS]://[^\\s/?#@]",
  "header-name": "^[0-9A-Za-z][!#$%&'*+.^_`|~0-9A-Za-z-]{0,63}$",
  "header-value": "^[!-~]([\\t -~]*[!-~])?$",
  "json-text": "\\S",
  "endpoint-version": VERSION_PATTERN,
  cursor: "^[A-Za-z0-9_-]{21}[AQgw]$",
};

/** The schemas as the document shows them. Those of query parameters are shown as parameters, one by one. */
export function componentSchemas(schemas: Record<SchemaName, Schema>): Record<string, Schema> {
  const operations = operationEntries.map(([, operation]) => operation);
  const queries = new Set<string>(operations.flatMap(({ query }) => query ?? []));
  const reporting = new Set<string>(
    operations.flatMap(({ body, reportsBadFields }) => (reportsBadFields && body) || []),
  );
  return Object.fromEntries(
    Object.entries(schemas)
      .filter(([name]) => !queries.has(name))
      .map(([name, schema]) => [name, withPatterns(reporting.has(name) ? anyValues(schema) : schema)]),
  );
}

export function withPatterns<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(withPatterns) as Value;
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withPatterns(each)]));
  // Generators make no type of null alone. That a text is refused is in the description.
  if (copy.type === "null" && copy.description !== undefined) return { ...copy, type: ["string", "null"] } as Value;
  const pattern = typeof copy.format === "string" ? FORMAT_PATTERNS[copy.format] : undefined;
  return (pattern === undefined ? copy : { ...copy, pattern }) as Value;
}

/** The body of a request whose answer lists its bad fields: each field may hold anything, and there may be others. */
function anyValues({ properties, additionalProperties: _none, ...schema }: Schema): Schema {
  const fields = Object.entries(properties as Record<string, Schema>);
  return {
    ...schema,
    properties: Object.fromEntries(
      fields.map(([name, { description, examples }]) => [
        name,
        { description, ...(examples !== undefined && { examples }) },
      ]),
    ),
  };
}
