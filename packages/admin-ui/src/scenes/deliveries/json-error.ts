import { type ParseError, parse } from "jsonc-parser";
import { formats } from "../../common/formats.ts";

/**
 * Checks a payload while it is typed: valid JSON of any kind, and no larger than allowed. The bytes are those that will be sent; the problem is null if the JSON is valid.
 * @param limitBytes the most that the API takes, in bytes of UTF-8.
 */
export function checkJson(text: string, limitBytes: number) {
  const bytes = new TextEncoder().encode(text).length;
  if (text.trim() === "") return { problem: "Write the JSON to send.", bytes };
  if (bytes > limitBytes) {
    const [has, most] = [bytes, limitBytes].map(formats.number);
    return { problem: `It has ${has} bytes; at most ${most} are allowed.`, bytes };
  }
  return { problem: isJson(text) ? null : `Not valid JSON yet: ${placeOfError(text)}.`, bytes };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON.parse names the place in some browsers only. */
function placeOfError(text: string): string {
  const errors: ParseError[] = [];
  parse(text, errors, { disallowComments: true });
  const at = errors[0]?.offset ?? text.length;
  if (at >= text.trimEnd().length) return "it breaks off at the end";
  const lines = text.slice(0, at).split("\n");
  return `look at line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}
