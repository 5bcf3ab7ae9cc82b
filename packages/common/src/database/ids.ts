import { hash, randomUUID } from "node:crypto";

// Ids are functions of what they name, and begin with its time in milliseconds: 48 bits, then the version (8, or 7 for ids that
// are random), then a hash. The migration has the same functions in SQL.

/** The key of a business event: of its organization, its id and the time when it occurred. The same event has the same key. */
export function eventKey(organizationId: string, eventId: string, occurredAt: Date): string {
  const time = BigInt.asUintN(64, BigInt(occurredAt.getTime())).toString(16).padStart(16, "0");
  return idOf(
    time.slice(4),
    Buffer.concat([Buffer.from(`${organizationId}\0`), Buffer.from(digitsOf(eventId) + time, "hex")]),
  );
}

/** The id of an event's delivery to an endpoint: it begins with the event's time. */
export function deliveryId(key: string, endpointId: string): string {
  const digits = digitsOf(key);
  return idOf(digits.slice(0, 12), Buffer.from(digits + digitsOf(endpointId), "hex"));
}

/** The smallest id of a millisecond: ids of earlier times are smaller, ids of this time or later are greater. */
export function firstIdAt(time: Date): string {
  const hex = Math.max(0, time.getTime()).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

export function lastIdAt(time: Date): string {
  return `${firstIdAt(time).slice(0, 13)}-ffff-ffff-ffffffffffff`;
}

/** Between which ids, both included, all those are that begin so. Hyphens don't count. */
export function idsFrom(prefix: string): { first: string; last: string } {
  const digits = prefix.replaceAll("-", "").toLowerCase();
  const filled = (digit: string) =>
    digits.padEnd(32, digit).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return { first: filled("0"), last: filled("f") };
}

export function timeOf(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

/** The same in SQL, of a column or another expression. */
export function timeOfInSql(id: string): string {
  return `to_timestamp(('x' || left(replace(${id}::text, '-', ''), 12))::bit(48)::bigint / 1000.0)`;
}

/** A UUID of version 8: twelve digits of time, the rest of a hash. One call for a hash, and text throughout: each delivery has several ids. */
function idOf(time: string, hashed: Buffer): string {
  const digits = hash("sha256", hashed, "hex");
  const variant = (8 + (Number.parseInt(digits.charAt(4), 16) % 4)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-8${digits.slice(1, 4)}-${variant}${digits.slice(5, 8)}-${digits.slice(8, 20)}`;
}

const digitsOf = (uuid: string) => uuid.replaceAll("-", "");

/** Ids made by this process. */
let made = 0;

/** A new notice's id: a UUID of version 7. Of one process and one millisecond, a later one is greater. */
export function noticeId(now: Date): string {
  made = (made + 1) % 0x1000;
  return `${firstIdAt(now).slice(0, 14)}7${made.toString(16).padStart(3, "0")}${randomUUID().slice(18)}`;
}

/**
 * The id of a change: the time, the revision that it made, and chance. So a trail is in the order of its ids. Manual deliveries and
 * resends, whose ids begin with their time too, come after a change of the same millisecond.
 */
export function changeId(now: Date, revision: bigint): string {
  const digits = BigInt.asUintN(28, revision).toString(16).padStart(7, "0");
  return `${firstIdAt(now).slice(0, 14)}0${digits.slice(0, 3)}-${digits.slice(3)}-${randomUUID().slice(24)}`;
}
