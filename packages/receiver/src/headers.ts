/** Headers as a server got them: `Headers`, any pairs, or an object such as `request.headersDistinct` of Node. */
export type HeadersInput =
  | Iterable<readonly [string, string]>
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** One header, its name compared without case: absent, present once, or there more than once. */
export type HeaderReading = { state: "absent" } | { state: "once"; value: string } | { state: "repeated" };

/**
 * A header is repeated where it occurs under two spellings or as a list, and also where its value holds a comma:
 * that is how HTTP stacks join repeated headers, and no value that the sender makes has one (SPEC 4.4.4).
 */
export function readHeader(headers: HeadersInput, name: string): HeaderReading {
  const wanted = name.toLowerCase();
  const values: string[] = [];
  for (const [key, value] of isIterable(headers) ? headers : Object.entries(headers)) {
    if (value !== undefined && key.toLowerCase() === wanted)
      values.push(...(typeof value === "string" ? [value] : value));
  }
  const [value] = values;
  if (value === undefined) return { state: "absent" };
  return values.length > 1 || value.includes(",") ? { state: "repeated" } : { state: "once", value };
}

function isIterable(headers: HeadersInput): headers is Iterable<readonly [string, string]> {
  return Symbol.iterator in headers;
}
