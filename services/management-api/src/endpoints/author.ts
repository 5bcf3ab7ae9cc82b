import type { Author } from "@herald/common/database/endpoint-change";
import type { Caller } from "../authentication/caller.ts";

const MAX_SUBJECT = 256;

/** Who makes a change, as it is kept. A subject that PostgreSQL can't store, or that nobody could read, is left out. */
export function authorOf({ subject, name }: Pick<Caller, "subject" | "name">): Author {
  const isKept = subject !== "" && subject.length <= MAX_SUBJECT && !/[\p{Cc}\p{Cs}]/u.test(subject);
  return { changedBy: "admin", subject: isKept ? subject : null, name };
}
