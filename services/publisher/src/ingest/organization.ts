import { MAX_EVENT_BYTES } from "@herald/contracts";
import { rawMembers } from "./read-event.ts";

/** The longest source text of an organization's id: 128 characters, each of which may be escaped as two halves. */
const MAX_RAW_LENGTH = 128 * 12 + 2;

/**
 * Whose turn a message is, read before the message is judged. It reads no further than to the organization, which emitters write first. Messages
 * whose organization can't be read so are rejected, or none of Herald's; they share the turns of "", which is no organization's id.
 */
export function organizationOf(content: Buffer): string {
  if (content.byteLength > MAX_EVENT_BYTES) return "";
  try {
    for (const { key, value } of rawMembers(content.toString())) {
      if (key === "organizationId") return readId(value);
    }
  } catch {
    // A name or the id is no JSON string.
  }
  return "";
}

function readId(raw: string): string {
  const id: unknown = raw.length > MAX_RAW_LENGTH ? "" : JSON.parse(raw);
  return typeof id === "string" ? id : "";
}
