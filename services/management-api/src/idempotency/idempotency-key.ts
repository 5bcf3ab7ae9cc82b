import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ProblemError } from "../problems/problem-error.ts";

export const MAX_KEY_CHARACTERS = 255;
/** Visible ASCII, as UUIDs and most ids of programs are. Keys are compared as they are, with quotes if they have some. */
export const KEY_PATTERN = "^[!-~]+$";

const key = new RegExp(KEY_PATTERN);

/**
 * The idempotency key of a request; undefined where it has none.
 *
 * @throws ProblemError `idempotency_key_invalid`
 */
export function idempotencyKeyOf({ headersDistinct }: Pick<IncomingMessage, "headersDistinct">): string | undefined {
  const values = headersDistinct["idempotency-key"];
  if (values === undefined) return undefined;
  const [value = ""] = values;
  if (values.length > 1 || value.length > MAX_KEY_CHARACTERS || !key.test(value)) {
    throw new ProblemError("idempotency_key_invalid");
  }
  return value;
}

/** What has to be the same where a key comes again. */
export interface Repeatable {
  operation: string;
  /** The parameters of its path. */
  params: Readonly<Record<string, string>>;
  body: unknown;
}

/** A hash that two requests share if, and only if, they ask for the same thing. */
export function requestHash({ operation, params, body }: Repeatable): Buffer {
  return sha256([operation, params, body]);
}

/** A caller's key as it is kept: others of the organization may use the same text, and learn nothing of it. */
export function ownKey(subject: string, key: string): string {
  return sha256([subject, key]).toString("base64url");
}

function sha256(value: unknown): Buffer {
  return createHash("sha256").update(JSON.stringify(value)).digest();
}
