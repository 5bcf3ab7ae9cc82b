import { createHash } from "node:crypto";
import type { Author } from "@herald/common/database/endpoint-change";
import type { Caller } from "../authentication/caller.ts";

const MAX_SUBJECT = 256;

/**
 * Who makes a change, as it is kept. Of a subject that PostgreSQL can't store, or that nobody could read, its hash is kept: nobody acts
 * without a name, and whoever has the token's subject can compare.
 */
export function authorOf({ subject, name }: Pick<Caller, "subject" | "name">): Author {
  const isKept = subject !== "" && subject.length <= MAX_SUBJECT && !/[\p{Cc}\p{Cs}]/u.test(subject);
  return { changedBy: "admin", subject: isKept ? subject : `sha256:${hashOf(subject)}`, name };
}

function hashOf(subject: string): string {
  return createHash("sha256").update(subject).digest("hex");
}
