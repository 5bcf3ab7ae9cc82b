import type { AddressRules } from "@herald/common/security/address-guard";
import { checkEndpointUrl } from "@herald/common/security/url-policy";
import { type ApiLimits, isTime } from "@herald/contracts";
import { parseCursor, parseVersion } from "./opaque.ts";

/** The fault of a text: a code for programs, a detail for people. */
export interface Fault {
  code: string;
  detail: string;
}

export const fault = (code: string, detail: string): Fault => ({ code, detail });

/** The headers that no endpoint may have of its own, by the reason; a name that ends in `-` stands for all names that begin so. */
const REFUSED: readonly (readonly [reason: string, names: string])[] = [
  [
    "HTTP itself uses it for the connection and the body",
    "accept accept-charset accept-encoding connection content- date expect host http2-settings keep-alive max-forwards proxy- te trailer " +
      "transfer-encoding upgrade",
  ],
  ["proxies on the way set it", "forwarded via x-forwarded- x-real-ip"],
  ["it changes the method of the request", "x-http-method x-http-method-override x-method-override"],
  ["Herald sets it", "herald- traceparent tracestate user-agent webhook- x-herald- x-webhook-"],
];

/** As RFC 9110, 5.6.2, with a letter or digit first: no name of a header that is in use begins otherwise, and `__proto__` does. */
const TOKEN = /^[0-9A-Za-z][!#$%&'*+.^_`|~0-9A-Za-z-]{0,63}$/;
/** Visible ASCII, and spaces and tabs inside. */
const VALUE = /^[!-~](?:[\t -~]*[!-~])?$/;

/** Names that receivers may take for one: they differ in case, or in `-` and `_`, which CGI and its kin do not distinguish. */
export const foldedName = (name: string) => name.toLowerCase().replaceAll("_", "-");

/** @param headerPrefix the setting `HEADER_PREFIX`, with which Herald's own headers begin */
export function headerNameFault(name: string, headerPrefix: string): Fault | null {
  if (!TOKEN.test(name)) {
    return fault(
      "malformed",
      "A name has 1 to 64 letters, digits and characters of !#$%&'*+-.^_`|~ only, and begins with a letter or digit.",
    );
  }
  const own: typeof REFUSED = [["Herald sets it", `${headerPrefix.toLowerCase()}-`]];
  const isMeant = (refused: string) =>
    refused.endsWith("-") ? foldedName(name).startsWith(refused) : foldedName(name) === refused;
  const [reason] = [...REFUSED, ...own].find(([, names]) => names.split(" ").some(isMeant)) ?? [];
  return reason === undefined ? null : fault("reserved", `This header can't be an endpoint's own: ${reason}.`);
}

export function headerValueFault(value: string): Fault | null {
  if (value === "") return fault("blank", "This header has no value: give one, or leave the header out.");
  if (VALUE.test(value)) return null;
  return fault(
    "value_malformed",
    "A value has visible ASCII characters only, with spaces and tabs between them and none at its ends.",
  );
}

/** Checks a text against a format of the API's schemas; null if nothing is wrong. */
export type Format = (text: string) => Fault | null;

export function apiFormats(limits: ApiLimits, addresses: AddressRules, headerPrefix: string): Record<string, Format> {
  return {
    "webhook-name": nameFault,
    "webhook-url": (text) => {
      const check = checkEndpointUrl(text, { addresses, maxLength: limits.urlCharacters });
      return check.ok ? null : fault(check.code, check.message);
    },
    "header-name": (text) => headerNameFault(text, headerPrefix),
    "header-value": headerValueFault,
    "date-time": timeFault,
    "json-text": (text) => payloadFault(text, limits.payloadBytes),
    "endpoint-version": (text) =>
      parseVersion(text) === null
        ? fault("not_a_version", "This is no version that Herald gave out: use the endpoint's as it was read.")
        : null,
    cursor: (text) =>
      parseCursor(text) === null
        ? fault("not_a_cursor", "This is no cursor that Herald gave out: use a cursor as it was read.")
        : null,
  };
}

/** Characters that people can see. Unicode counts fillers as letters, and the blank of Braille as a symbol. */
const VISIBLE = /(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u;

/** Names go to the page, to logs and into notices. None may look like another one there. */
function nameFault(text: string): Fault | null {
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(text)) {
    return fault("control_characters", "The name contains line breaks or control characters: remove them.");
  }
  if (!VISIBLE.test(text)) return fault("blank", "The name is blank: give the endpoint a name.");
  if (hasInvisible(text)) {
    return fault(
      "invisible_characters",
      "The name contains characters that can't be seen, so it can look like another name: remove them.",
    );
  }
  return null;
}

function timeFault(text: string): Fault | null {
  return isTime(text)
    ? null
    : fault(
        "not_a_time",
        "This must be a time such as 2026-01-31T12:00:00Z, on a day that exists, of the years 1 to 9999 in UTC.",
      );
}

function payloadFault(text: string, maxBytes: number): Fault | null {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) {
    return fault("too_long", `The payload has ${bytes} bytes; ${maxBytes} is the most that is sent.`);
  }
  // Half of a surrogate pair can't be written as UTF-8, so it can't be sent as it is.
  if (/\p{Cs}/u.test(text)) {
    return fault("not_unicode", "The payload contains half of a surrogate pair, which can't be sent as UTF-8.");
  }
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return fault("not_json", `The payload isn't valid JSON: ${jsonFault(error)}`);
  }
}

/** V8's error message, without the part of the text that it may quote. */
export function jsonFault(error: unknown): string {
  const position = /at position \d+( \(line \d+ column \d+\))?/.exec((error as Error).message)?.[0];
  return position ? `there is a mistake ${position}.` : "it ends too early, or isn't JSON at all.";
}

/** Characters that show as nothing, and change how the rest shows or hide text in it: direction marks, zero-width spaces, tags, fillers. */
const INVISIBLE = /(?![\u200c\u200d])\p{Default_Ignorable_Code_Point}/u;

/** Sequences in which such a character is in its place: emoji and flags, and variants of symbols, ideographs and Mongolian letters. */
const IN_PLACE = new RegExp(
  "\\p{RGI_Emoji}|[\\p{Emoji}--\\p{ASCII}][\\ufe0e\\ufe0f]" +
    "|\\p{Unified_Ideograph}[\\ufe00-\\ufe02\\u{e0100}-\\u{e01ef}]|\\p{Script=Mongolian}[\\u180b-\\u180d\\u180f]",
  "gv",
);

/**
 * The two joiners stay where they join: emoji, Persian and many scripts of India are written with them. Beside a Latin, Greek or
 * Cyrillic letter, a digit, a space or an end they join nothing.
 */
const JOINS_NOTHING =
  /(?:^|[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Nd}\s\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?:$|[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Nd}\s])/u;

/** The blank of Braille at an end. Unicode counts it as a symbol. */
const BLANK_AT_END = /^\u2800|\u2800$/;

/** Whether a stored name looks like another one, since it has invisible characters. */
export function hasInvisible(text: string): boolean {
  const rest = text.replace(IN_PLACE, "☺");
  return INVISIBLE.test(rest) || JOINS_NOTHING.test(rest) || BLANK_AT_END.test(rest);
}
