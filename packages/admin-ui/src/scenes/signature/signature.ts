/** The parts of one attempt's signature (SPEC 4.3). */
export interface Signed {
  /** The signing secret's literal text. */
  secret: string;
  timestamp: string;
  /** The request body, character for character. */
  body: string;
}

export function signedMessage({ timestamp, body }: Signed): string {
  return `${timestamp}.${body}`;
}

/** The signature header that the receiver gets: "sha256=" and 64 lowercase hexadecimal characters. Computed in the browser. */
export async function expectedSignature(signed: Signed): Promise<string> {
  return `sha256=${await hmacHex(utf8(signed.secret), signedMessage(signed))}`;
}

export type Verdict = { is: "match" } | { is: "mistake"; mistake: string } | { is: "unknown" };

/** Makes each of the usual mistakes, to find the one that explains a difference. @param got a header value or a digest, in hexadecimal or Base64 */
export async function judgeSignature(got: string, signed: Signed): Promise<Verdict> {
  const text = got.trim();
  const bare = text.replace(/^sha256=/i, "");
  const digest = toHex(bare);
  if (digest === null) return { is: "mistake", mistake: wrongShape(bare) };
  if (digest === (await hmacHex(utf8(signed.secret), signedMessage(signed)))) {
    if (text === `sha256=${digest}` || text === digest) return { is: "match" };
    return {
      is: "mistake",
      mistake: "The digest is right, but it must be written as lowercase hexadecimal after “sha256=”.",
    };
  }
  for (const [keyMistake, key] of keysByMistake(signed.secret)) {
    for (const [messageMistake, message] of messagesByMistake(signed)) {
      if (key.length > 0 && digest === (await hmacHex(key, message))) {
        return { is: "mistake", mistake: [keyMistake, messageMistake].filter(Boolean).join(" ") };
      }
    }
  }
  return { is: "unknown" };
}

function keysByMistake(secret: string): [mistake: string, key: Uint8Array<ArrayBuffer>][] {
  const keys: [string, Uint8Array<ArrayBuffer>][] = [
    ["", utf8(secret)],
    ["The receiver's secret ends in a line break that is not part of it.", utf8(`${secret}\n`)],
  ];
  if (secret.trim() !== secret)
    keys.push(["The secret was trimmed: it must be used to the letter.", utf8(secret.trim())]);
  const decoded = fromBase64(secret);
  if (decoded) keys.push(["The secret was decoded from Base64: the key is its literal text.", decoded]);
  return keys;
}

function messagesByMistake({ timestamp, body }: Signed): [mistake: string, message: string][] {
  const messages: [string, string][] = [
    ["", `${timestamp}.${body}`],
    ["Only the body was signed: the timestamp and a dot come first.", body],
    ["There is no dot between the timestamp and the body.", `${timestamp}${body}`],
    ["The body had a line break added at its end.", `${timestamp}.${body}\n`],
    ["The body was trimmed: sign it to the letter.", `${timestamp}.${body.trim()}`],
  ];
  const parsed = parse(body);
  if (parsed === undefined) return messages;
  const again = "The body was parsed and written again: keep the raw bytes, and verify before parsing.";
  const python = pythonStyle(parsed);
  for (const text of [JSON.stringify(parsed), JSON.stringify(parsed, null, 2), python, asciiOnly(python)]) {
    messages.push([again, `${timestamp}.${text}`], [`${again} Only it was signed, without the timestamp.`, text]);
  }
  return messages;
}

/** Python's json.dumps puts a space after each comma and colon. */
function pythonStyle(value: unknown): string {
  return JSON.stringify(value, null, 1)
    .replace(/\n\s*(?=[}\]])/g, "")
    .replace(/([{[])\n\s*/g, "$1")
    .replace(/,\n\s*/g, ", ");
}

/** Python's json.dumps also escapes everything that is not ASCII. */
function asciiOnly(json: string): string {
  return json.replace(/[^ -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function wrongShape(digest: string): string {
  if (/^[0-9a-f]{40}$/i.test(digest)) return "It is as long as a SHA-1 digest: use SHA-256.";
  if (/^[0-9a-f]{128}$/i.test(digest)) return "It is as long as a SHA-512 digest: use SHA-256.";
  return "It is no SHA-256 digest: “sha256=” and 64 hexadecimal characters are expected.";
}

/** A SHA-256 digest, written as hexadecimal or Base64, as lowercase hexadecimal; null if it is none. */
function toHex(digest: string): string | null {
  if (/^[0-9a-f]{64}$/i.test(digest)) return digest.toLowerCase();
  const bytes = /^[\w+/-]{43}=?$/.test(digest) ? fromBase64(digest.replaceAll("-", "+").replaceAll("_", "/")) : null;
  return bytes?.length === 32 ? hex(bytes) : null;
}

async function hmacHex(key: Uint8Array<ArrayBuffer>, message: string): Promise<string> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return hex(new Uint8Array(await crypto.subtle.sign("HMAC", imported, utf8(message))));
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A receiver to copy, that keeps every rule of SPEC 4.4.3: an example, with this Herald's names of headers. */
export function receiverCode(example: string, prefix: string): string {
  return example.replaceAll("X-Service", prefix).replaceAll("x-service", prefix.toLowerCase());
}
