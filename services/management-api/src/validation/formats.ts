import type { PrivateNetworks } from "@herald/common/security/private-networks";
import { checkEndpointUrl } from "@herald/common/security/url-policy";
import type { ApiLimits } from "@herald/contracts";
import { parseCursor } from "../deliveries/cursor.ts";
import { parseVersion } from "../endpoints/version.ts";

/** What is wrong with a text: a code for programs, a detail for people. */
export interface Fault {
  code: string;
  detail: string;
}

/** Checks a text against a format of the API's schemas; null where nothing is wrong. */
export type Format = (text: string) => Fault | null;

export function apiFormats(limits: ApiLimits, allowedPrivateNetworks: PrivateNetworks): Record<string, Format> {
  return {
    "webhook-name": nameFault,
    "webhook-url": (text) => {
      const check = checkEndpointUrl(text, { allowedPrivateNetworks, maxLength: limits.urlCharacters });
      return check.ok ? null : { code: check.code, detail: check.message };
    },
    "date-time": timeFault,
    "json-text": (text) => payloadFault(text, limits.payloadBytes),
    "endpoint-version": (text) =>
      parseVersion(text) === null
        ? {
            code: "not_a_version",
            detail: "This is no version that Herald gave out: use the endpoint's as it was read.",
          }
        : null,
    "delivery-cursor": (text) =>
      parseCursor(text) === null
        ? { code: "not_a_cursor", detail: "This is no cursor that Herald gave out: use nextCursor as it was read." }
        : null,
  };
}

function nameFault(text: string): Fault | null {
  if (!/\S/u.test(text)) return { code: "blank", detail: "The name is blank: give the endpoint a name." };
  if (/[\p{Cc}\p{Cs}]/u.test(text)) {
    return { code: "control_characters", detail: "The name contains line breaks or control characters: remove them." };
  }
  return null;
}

/** Stricter than RFC 3339: JavaScript and PostgreSQL take neither its leap seconds nor its year 0. */
function timeFault(text: string): Fault | null {
  const isTime = TIME.test(text) && !Number.isNaN(Date.parse(text)) && !text.startsWith("0000");
  return isTime ? null : { code: "not_a_time", detail: "This must be a time such as 2026-01-31T12:00:00Z." };
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

function payloadFault(text: string, maxBytes: number): Fault | null {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) {
    return { code: "too_long", detail: `The payload has ${bytes} bytes; ${maxBytes} is the most that is sent.` };
  }
  // Half of a surrogate pair can't be written as UTF-8, so it can't be sent as it is.
  if (/\p{Cs}/u.test(text)) {
    return {
      code: "not_unicode",
      detail: "The payload contains half of a surrogate pair, which can't be sent as UTF-8.",
    };
  }
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return { code: "not_json", detail: `The payload isn't valid JSON: ${jsonFault(error)}` };
  }
}

/** V8's error message, without the part of the payload that it may quote. */
function jsonFault(error: unknown): string {
  const position = /at position \d+( \(line \d+ column \d+\))?/.exec((error as Error).message)?.[0];
  return position ? `there is a mistake ${position}.` : "it ends too early, or isn't JSON at all.";
}
