import { formats } from "./formats.ts";

/** A token of JSON, or a character that begins none. A text is one token: brackets in it are no others. */
const TOKEN =
  /"[^"\\\n\r\t]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\n\r\t]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[^ \t\n\r]/gu;

const CLOSING: Record<string, string | undefined> = { "{": "}", "[": "]" };

/**
 * Checks a payload while it is typed: valid JSON of any kind, and no larger than allowed. The bytes are those that will be sent; the problem is null if the JSON is valid.
 * A name that an object repeats is no problem, since JSON allows it; its place is told.
 */
export function checkJson(text: string, limitBytes: number) {
  const bytes = new TextEncoder().encode(text).length;
  const wrong = (problem: string) => ({ problem, bytes, repeated: null });
  if (text.trim() === "") return wrong("Write the JSON to send.");
  if (bytes > limitBytes) {
    const [has, most] = [bytes, limitBytes].map(formats.number);
    return wrong(`It has ${has} bytes; at most ${most} are allowed.`);
  }
  return isJson(text)
    ? { problem: null, bytes, repeated: placeOfRepeatedName(text) }
    : wrong(`Not valid JSON yet: ${placeOfError(text)}.`);
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
  const open: string[] = [];
  let wants: "value" | "name" | "colon" | "end" = "value";
  let isEmpty = false;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const wanted = wants;
    const closing = CLOSING[token];
    if (closing && wants === "value") {
      open.push(closing);
      wants = token === "{" ? "name" : "value";
    } else if (token === open.at(-1) && (isEmpty || wants === "end")) {
      open.pop();
      wants = "end";
    } else if (token === "," && wants === "end" && open.length > 0) wants = open.at(-1) === "}" ? "name" : "value";
    else if (token === ":" && wants === "colon") wants = "value";
    else if (wants === "name" && /^"./.test(token)) wants = "colon";
    else if (wants === "value" && /\d|^\w{2}|^"./.test(token)) wants = "end";
    else return `look at ${placeOf(index, text)}`;
    isEmpty = closing !== undefined && wanted === "value";
  }
  return wants === "end" && open.length === 0 ? "a text has a control character" : "it breaks off at the end";
}

/** The first name that its object has already: JSON.parse drops the earlier value in silence. */
function placeOfRepeatedName(json: string): string | null {
  const objects: Set<string>[] = [];
  let latest = { token: "", index: 0 };
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    if (token === "{") objects.push(new Set());
    else if (token === "}") objects.pop();
    else if (token === ":") {
      const name: string = JSON.parse(latest.token);
      if (objects.at(-1)?.has(name)) return placeOf(latest.index, json);
      objects.at(-1)?.add(name);
    }
    latest = { token, index };
  }
  return null;
}

function placeOf(at: number, text: string): string {
  const lines = text.slice(0, at).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}

const DEEPEST = 100;

/**
 * JSON with a line for each value. Numbers, escapes and repeated keys stay as they are written, which parsing would change. What is nested
 * too deep stays as it is: each line has as many spaces as it is deep, and 40 KB could become a gigabyte.
 */
export function indented(json: string): string {
  if (!isJson(json)) return json;
  const parts: string[] = [];
  let depth = 0;
  let before = "";
  for (const [token] of json.matchAll(TOKEN)) {
    const opens = CLOSING[token] !== undefined;
    const closes = token === "}" || token === "]";
    if (closes) depth -= 1;
    const beginsLine = closes ? CLOSING[before] === undefined : before === "," || CLOSING[before] !== undefined;
    if (beginsLine) parts.push("\n", "  ".repeat(depth));
    parts.push(token === ":" ? ": " : token);
    if (opens) depth += 1;
    if (depth > DEEPEST) return json;
    before = token;
  }
  return parts.join("");
}
