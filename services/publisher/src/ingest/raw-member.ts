/**
 * The source text of a member's value in a JSON object: where the name occurs twice, of the last one, as JSON.parse does.
 *
 * @param json text that JSON.parse has accepted as an object with this member
 */
export function rawMember(json: string, name: string): string {
  let found: string | undefined;
  let at = skipSpace(json, json.indexOf("{") + 1);
  while (json[at] === '"') {
    const keyEnd = endOfString(json, at);
    const key: unknown = JSON.parse(json.slice(at, keyEnd));
    const start = skipSpace(json, json.indexOf(":", keyEnd) + 1);
    const end = endOfValue(json, start);
    if (key === name) found = json.slice(start, end).trimEnd();
    at = skipSpace(json, end + 1);
  }
  if (found === undefined) throw new Error(`The JSON object has no member ${JSON.stringify(name)}.`);
  return found;
}

function skipSpace(json: string, from: number): number {
  let at = from;
  while (json[at] === " " || json[at] === "\n" || json[at] === "\r" || json[at] === "\t") at++;
  return at;
}

/** The index behind the closing quote of the string that starts at `from`. */
function endOfString(json: string, from: number): number {
  let at = from + 1;
  while (json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** The index of the comma or brace that ends the value which starts at `from`. */
function endOfValue(json: string, from: number): number {
  let depth = 0;
  let at = from;
  for (;;) {
    const character = json[at];
    if (character === '"') {
      at = endOfString(json, at);
      continue;
    }
    if (depth === 0 && (character === "," || character === "}")) return at;
    if (character === "{" || character === "[") depth++;
    else if (character === "}" || character === "]") depth--;
    at++;
  }
}
