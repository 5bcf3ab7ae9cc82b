import { createHash } from "node:crypto";
import type { Author } from "@herald/common/database/endpoint-change";
import type { Caller } from "../authentication/caller.ts";

const MAX_SUBJECT = 256;

/**
 * The author of a change, as it is stored. Where PostgreSQL can't store the subject, or a person could not read it, its hash is stored: no
 * author is without a name, and a person who has the token's subject can compare.
 */
export function authorOf({ subject, name }: Pick<Caller, "subject" | "name">): Author {
  const isKept = subject !== "" && subject.length <= MAX_SUBJECT && !/[\p{Cc}\p{Cs}]/u.test(subject);
  return { changedBy: "admin", subject: isKept ? subject : `sha256:${hashOf(subject)}`, name };
}

function hashOf(subject: string): string {
  return createHash("sha256").update(subject).digest("hex");
}
