import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ProblemError } from "../problems/problem-error.ts";

export const MAX_KEY_CHARACTERS = 255;
/** Visible ASCII, as UUIDs and most ids of programs are. Keys are compared as they are, with quotes if they have some. */
export const KEY_PATTERN = "^[!-~]+$";

const pattern = new RegExp(KEY_PATTERN);

/** The idempotency key of a request; undefined if it has none. @throws ProblemError `idempotency_key_invalid` */
export function idempotencyKeyOf({ headersDistinct }: Pick<IncomingMessage, "headersDistinct">): string | undefined {
  const values = headersDistinct["idempotency-key"];
  if (values === undefined) return undefined;
  const [value = ""] = values;
  if (values.length > 1 || value.length > MAX_KEY_CHARACTERS || !pattern.test(value)) {
    throw new ProblemError("idempotency_key_invalid");
  }
  return value;
}

/** What has to be the same if a request is sent again. */
export interface KeyedRequest {
  organizationId: string;
  /** Of the caller: others of the organization may use the same key, and learn nothing of it. */
  subject: string;
  /** The client's key. It can't be guessed, and so no value in the body can be guessed by its hash. */
  key: string;
  operation: string;
  params: Readonly<Record<string, string>>;
  body: unknown;
}

/** A hash that two requests share if, and only if, one repeats the other. The trail has it. */
export function requestHash(request: KeyedRequest): Buffer<ArrayBuffer> {
  const { organizationId, subject, key, operation, params, body } = request;
  const text = JSON.stringify([organizationId, subject, key, operation, params, body], sortMembers);
  return createHash("sha256").update(text).digest();
}

/** The members of an object have no order: two texts of one JSON value give one hash. */
function sortMembers(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
