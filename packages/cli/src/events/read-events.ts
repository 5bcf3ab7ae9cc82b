/** One event of a file, as bytes, which is how publishers get it. */
export interface EventInFile {
  /** Where it is, in words: its line, or its place in the array. */
  place: string;
  content: Uint8Array;
}

const LINE_FEED = 0x0a;
const OPENING_BRACKET = 0x5b;

/**
 * The events of a file: a JSON array, or one event a line (NDJSON). Empty lines are passed over. Of lines the bytes are those of the
 * file; the elements of an array are written anew, without the spaces between their parts.
 *
 * @throws Error where the file begins as an array and is none
 */
export function* readEvents(file: Buffer): Generator<EventInFile> {
  if (file[firstOf(file)] === OPENING_BRACKET) yield* elements(file);
  else yield* lines(file);
}

function* elements(file: Buffer): Generator<EventInFile> {
  let array: unknown[];
  try {
    array = JSON.parse(
      file
        .toString("utf8")
        .trimStart()
        .replace(/^\ufeff/, ""),
    ) as unknown[];
  } catch (error) {
    const reason = "It begins with [ and is no JSON array. Events one a line begin with {.";
    throw new Error(reason, { cause: error });
  }
  for (const [index, element] of array.entries()) {
    yield { place: `event ${index + 1}`, content: Buffer.from(JSON.stringify(element)) };
  }
}

function* lines(file: Buffer): Generator<EventInFile> {
  let number = 0;
  for (let start = 0; start < file.length; ) {
    const found = file.indexOf(LINE_FEED, start);
    const end = found === -1 ? file.length : found;
    const content = file.subarray(start, end);
    number++;
    start = end + 1;
    if (firstOf(content) < content.length) yield { place: `line ${number}`, content };
  }
}

/** The place of the first byte that is no white space and no byte order mark. */
function firstOf(bytes: Buffer): number {
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  while (at < bytes.length && [0x20, 0x09, 0x0d, LINE_FEED].includes(bytes[at] as number)) at++;
  return at;
}
