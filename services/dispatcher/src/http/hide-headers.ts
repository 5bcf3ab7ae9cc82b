/** A shorter run of a value's characters tells nobody the value, and is in many texts. */
const RUN = 8;

/** One character, or an escape of one as JSON, URLs and HTML write it. A NUL is the other half of a character of UTF-16. */
const SPELLING =
  /\\u00([\da-f]{2})|\\x([\da-f]{2})|%([\da-f]{2})|&#x0*([\da-f]{1,2});|&#0*(\d{1,3});|&(amp|lt|gt|quot|apos|sol|plus|equals);|\\(.)|\0|[\s\S]/gi;
const HTML_NAMES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  sol: "/",
  plus: "+",
  equals: "=",
};
/** Escapes within escapes: a URL in JSON in JSON. */
const ROUNDS = 3;

/** Characters, and the place of each in the text as it came: where its spelling begins and ends. */
type Reading = { characters: string; places: readonly (readonly [from: number, to: number])[] };

/**
 * Hides what an answer repeats of own headers, however it spells that: each run of eight characters of a value, or of the user and password that a
 * value of Basic encodes. The text has one character a byte.
 */
export function hideHeaders(text: string, values: readonly string[]): string {
  const runs = new Set(values.flatMap(secretsOf).flatMap(runsOf));
  if (runs.size === 0) return text;
  let reading: Reading = { characters: text, places: Array.from(text, (_, at) => [at, at + 1] as const) };
  const hidden = new Uint8Array(text.length);
  for (let round = 0; round <= ROUNDS; round++) {
    const { characters, places } = reading;
    const small = characters.toLowerCase();
    for (let at = 0; at + RUN <= small.length; at++) {
      if (runs.has(small.slice(at, at + RUN))) hidden.fill(1, places[at]?.[0], places[at + RUN - 1]?.[1]);
    }
    reading = unescaped(reading);
  }
  let shown = "";
  for (let at = 0; at < text.length; at++) shown += hidden[at] ? (hidden[at - 1] ? "" : "***") : text[at];
  return shown;
}

/** A value's words, and what they mean. A word that looks like an escape is found in both forms. */
function secretsOf(value: string): string[] {
  const words = value.split(/[\t ]/);
  const basic = /^basic +(\S+)$/i.exec(value)?.[1];
  const plain = basic === undefined ? [] : [Buffer.from(basic, "base64").toString("latin1")];
  return [...words, ...plain].flatMap((word) => [word, unescaped({ characters: word, places: [] }).characters]);
}

function runsOf(secret: string): string[] {
  const small = secret.toLowerCase();
  return Array.from({ length: Math.max(0, small.length - RUN + 1) }, (_, at) => small.slice(at, at + RUN));
}

function unescaped({ characters, places }: Reading): Reading {
  const read: [string, readonly [number, number]][] = [];
  for (const match of characters.matchAll(SPELLING)) {
    const [spelling, json, script, url, hexadecimal, decimal, name, plain] = match;
    if (spelling === "\0") continue;
    const code = json ?? script ?? url ?? hexadecimal;
    const character =
      code !== undefined
        ? String.fromCharCode(Number.parseInt(code, 16))
        : decimal !== undefined
          ? String.fromCharCode(Number(decimal))
          : (HTML_NAMES[name?.toLowerCase() ?? ""] ?? plain ?? spelling);
    const last = match.index + spelling.length - 1;
    read.push([character, [places[match.index]?.[0] ?? 0, places[last]?.[1] ?? 0]]);
  }
  return { characters: read.map(([character]) => character).join(""), places: read.map(([, place]) => place) };
}
