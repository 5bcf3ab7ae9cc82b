import { formats } from "../../common/formats.ts";

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

type Expected = "value" | "valueOrEnd" | "key" | "keyOrEnd" | "colon" | "commaOrEnd" | "nothing";

const token =
  /([{}[\],:])|("(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
const space = /[ \t\n\r]*/y;

/**
 * Where a text stops being JSON (RFC 8259). Browsers' parsers mostly don't tell, each in another way.
 * @returns the index of the first token that can't stand where it does; the text's length where it breaks off; null if it is JSON.
 */
export function jsonErrorAt(text: string): number | null {
  const open: ("{" | "[")[] = [];
  let expected: Expected = "value";
  let at = skip(text, 0);
  while (at < text.length) {
    token.lastIndex = at;
    const match = token.exec(text);
    if (!match) return at;
    const [whole, sign, string] = match;
    const next = after(expected, sign, string !== undefined, open);
    if (next === null) return at;
    expected = next;
    at = skip(text, at + whole.length);
  }
  return expected === "nothing" ? null : text.length;
}

function skip(text: string, from: number): number {
  space.lastIndex = from;
  space.test(text);
  return space.lastIndex;
}

/** What may follow a token; null where the token itself is not allowed. */
function after(expected: Expected, sign: string | undefined, isString: boolean, open: ("{" | "[")[]): Expected | null {
  const inside = (): Expected => (open.length > 0 ? "commaOrEnd" : "nothing");
  const top = open.at(-1);
  switch (sign) {
    case "{":
    case "[":
      if (expected !== "value" && expected !== "valueOrEnd") return null;
      open.push(sign);
      return sign === "{" ? "keyOrEnd" : "valueOrEnd";
    case "}":
    case "]": {
      const mayEnd = expected === "commaOrEnd" || expected === (sign === "}" ? "keyOrEnd" : "valueOrEnd");
      if (!mayEnd || top !== (sign === "}" ? "{" : "[")) return null;
      open.pop();
      return inside();
    }
    case ",":
      if (expected !== "commaOrEnd") return null;
      return top === "{" ? "key" : "value";
    case ":":
      return expected === "colon" ? "value" : null;
    default:
      if (expected === "key" || expected === "keyOrEnd") return isString ? "colon" : null;
      return expected === "value" || expected === "valueOrEnd" ? inside() : null;
  }
}
