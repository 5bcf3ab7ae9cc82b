import { createHash } from "node:crypto";

/** The namespace that every id made by `uuidFor` begins from. It never changes: the ids at receivers would. */
export const UUID_NAMESPACE = "9342e4fd-6854-4159-b75f-123f2c2201fa";

/**
 * The UUID of something whose own key is none: a number, a cuid, any text. The same kind and key always make the same UUID,
 * of version 5: the key in the namespace of its kind, which is itself a UUID of version 5 in {@link UUID_NAMESPACE}. Any
 * language's UUID library makes the same in a line: `uuid5(uuid5(NAMESPACE, kind), key)`.
 *
 * Letters of another case make another UUID. A number is its decimal digits, so that 7 and "7" are the same key.
 *
 * @param kind what it is, such as "WorkItem": two kinds may have the same keys
 * @throws TypeError if the key can't name anything: empty, no whole number, broken Unicode
 *
 * @example
 * newEvent({ organizationId, type, entityType: "WorkItem", entityId: uuidFor("WorkItem", workItem.id) });
 */
export function uuidFor(kind: string, key: string | number | bigint): string {
  if (typeof key === "number" && !Number.isSafeInteger(key)) throw new TypeError(`The key ${key} is no whole number.`);
  return uuidOf(uuidOf(UUID_NAMESPACE, nameOf(kind)), nameOf(String(key)));
}

function nameOf(text: string): string {
  if (text === "") throw new TypeError("Kind and key must not be empty.");
  // UTF-8 would make the same of all broken characters, and two keys one.
  if (/\p{Cs}/u.test(text)) throw new TypeError("Kind and key must be well-formed Unicode.");
  return text;
}

/** A UUID of version 5 (RFC 9562). */
function uuidOf(namespace: string, name: string): string {
  const hash = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(name, "utf8");
  const digits = hash.digest("hex").slice(0, 32).split("");
  digits[12] = "5";
  digits[16] = "89ab"[Number.parseInt(digits[16] as string, 16) & 3] as string;
  return digits.join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
