import { type ParseError, parse } from "jsonc-parser";
import { formats } from "../../common/formats.ts";

/**
 * Checks a payload while it is typed: valid JSON of any kind, and no larger than allowed. The bytes are those that will be sent; the problem is null if the JSON is valid.
 * A name that an object repeats is no problem, since JSON allows it; its place is told.
 * @param limitBytes the most that the API takes, in bytes of UTF-8.
 */
export function checkJson(text: string, limitBytes: number) {
  const bytes = new TextEncoder().encode(text).length;
  if (text.trim() === "") return { problem: "Write the JSON to send.", bytes, repeated: null };
  if (bytes > limitBytes) {
    const [has, most] = [bytes, limitBytes].map(formats.number);
    return { problem: `It has ${has} bytes; at most ${most} are allowed.`, bytes, repeated: null };
  }
  return isJson(text)
    ? { problem: null, bytes, repeated: placeOfRepeatedName(text) }
    : { problem: `Not valid JSON yet: ${placeOfError(text)}.`, bytes, repeated: null };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON.parse names the place in some browsers only. The other parser calls itself for each level, so a deep text ends its stack. */
function placeOfError(text: string): string {
  const errors: ParseError[] = [];
  try {
    parse(text, errors, { disallowComments: true });
  } catch {
    return "it is nested too deeply to say where";
  }
  const at = errors[0]?.offset ?? text.length;
  if (at >= text.trimEnd().length) return "it breaks off at the end";
  return `look at ${placeOf(at, text)}`;
}

/** The first name that its object has already. Read token by token: JSON.parse drops the earlier value in silence. */
function placeOfRepeatedName(json: string): string | null {
  const objects: Set<string>[] = [];
  let latest = { text: "", at: 0 };
  for (const { 0: text, index: at } of json.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}:]/g)) {
    if (text === "{") objects.push(new Set());
    else if (text === "}") objects.pop();
    else if (text !== ":") latest = { text, at };
    else {
      const name: string = JSON.parse(latest.text);
      if (objects.at(-1)?.has(name)) return placeOf(latest.at, json);
      objects.at(-1)?.add(name);
    }
  }
  return null;
}

function placeOf(at: number, text: string): string {
  const lines = text.slice(0, at).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}
