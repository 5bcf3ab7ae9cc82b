// The rules for texts that come into Herald. Each is written here alone, so that the API, the publisher, the emitter and the
// page can't disagree.

/** The rule of `isOrganizationId` in words, for error messages. */
export const ORGANIZATION_ID_RULE = "must be 1 to 128 characters, without control characters or broken Unicode";

const organizationId = /^[^\p{Cc}\p{Cs}]{1,128}$/u;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const time =
  /^((?!0000)\d{4}-\d\d-(\d\d))T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/**
 * An organization id: 1 to 128 characters (Unicode code points), no control characters, no half of a surrogate pair. UTF-8
 * can't write such a half and puts U+FFFD in its place, so two different ids would become one organization in the database.
 * Ids are compared exactly: `ABC` and `abc` are two organizations.
 */
export function isOrganizationId(value: unknown): value is string {
  return typeof value === "string" && organizationId.test(value);
}

/** A UUID of any version, in its usual form with four hyphens; in capitals too. */
export function isUuid(value: unknown): value is string {
  return typeof value === "string" && uuid.test(value);
}

/** How the ids of events and entities begin, with or without hyphens: at least eight digits, so that few ids begin alike. */
export const ID_PREFIX = /^(?:-?[0-9A-Fa-f]){8,32}$/;

/**
 * A time as RFC 3339 writes it, with `Z` or an offset, to the nanosecond at most, of the years 1 to 9999: PostgreSQL and every receiver
 * can hold it, and the same time in UTC. The day exists, which JavaScript does not check: it takes February 30 for March 2.
 */
export function isTime(value: unknown): value is string {
  const [, day, date] = (typeof value === "string" && time.exec(value)) || [];
  if (day === undefined || new Date(day).getUTCDate() !== Number(date)) return false;
  const year = new Date(value as string).getUTCFullYear();
  return year >= 1 && year <= 9999;
}

/** A time that {@link isTime} accepts, in UTC with `Z`. It keeps all digits of its seconds. */
export function toUtcTime(time: string): string {
  if (time.endsWith("Z")) return time;
  return `${new Date(time).toISOString().slice(0, 19)}${/\.\d+/.exec(time)?.[0] ?? ""}Z`;
}

/** A name as it is stored, so that names that look alike are alike: one Unicode form, single spaces, none at the ends. */
export function storedName(name: string): string {
  return name
    .normalize("NFC")
    .replace(/\p{Zs}+/gu, " ")
    .replace(/^ | $/g, "");
}

/** An endpoint's own headers, and the characters of each value. */
export const MAX_HEADERS = 5;
export const MAX_HEADER_VALUE = 1_024;

/** Sizes and counts that the management API refuses to go beyond, if its settings say nothing else. */
export const DEFAULT_API_LIMITS = {
  nameCharacters: 200,
  urlCharacters: 2_048,
  payloadBytes: 256 * 1024,
  endpoints: 100,
};

/** Deliveries in a listing, across the whole organization (SPEC 2.1, 8). */
export const RECENT_DELIVERIES = 200;

/** The largest event body that the broker contract allows, in bytes of UTF-8. */
export const MAX_EVENT_BYTES = 256 * 1024;
