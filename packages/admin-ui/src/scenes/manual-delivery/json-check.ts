import { formats } from "../../common/formats.ts";
import { jsonErrorAt } from "./json-error.ts";

export interface JsonCheck {
  /** Null where it is valid JSON. */
  problem: string | null;
  bytes: number;
}

/**
 * Checks a payload while it is typed: valid JSON of any kind, and no larger than allowed. The bytes are those that will be sent.
 * @param limitBytes the most that the API takes, in bytes of UTF-8.
 */
export function checkJson(text: string, limitBytes: number): JsonCheck {
  const bytes = new TextEncoder().encode(text).length;
  if (text.trim() === "") return { problem: "Write the JSON to send.", bytes };
  if (bytes > limitBytes) {
    const [has, most] = [bytes, limitBytes].map(formats.number);
    return { problem: `It has ${has} bytes; at most ${most} are allowed.`, bytes };
  }
  const at = jsonErrorAt(text);
  return { problem: at === null ? null : `Not valid JSON yet: ${placeOf(text, at)}.`, bytes };
}

function placeOf(text: string, at: number): string {
  if (at >= text.length) return "it breaks off at the end";
  const lines = text.slice(0, at).split("\n");
  return `look at line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}
