import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isUniqueViolation } from "@herald/common/database/errors";
import type { Queries } from "@herald/common/database/queries";
import type { Clock } from "@herald/common/runtime/clock";
import { ProblemError } from "../problems/problem-error.ts";
import { endIdempotencyKey, eraseIdempotencyKeys, takeIdempotencyKey } from "../sql/idempotency-keys.ts";

/** The thing that a request with an idempotency key makes. */
export interface Target {
  /** The id is the same for each repetition, so that no repetition makes a second one. */
  id: string;
  /** An earlier request with the key ended without an answer, and may have made it. */
  mayExist: boolean;
}

export interface KeyedRequest {
  organizationId: string;
  key: string;
  requestHash: Buffer;
}

export type AnswerOnce = ReturnType<typeof createAnswerOnce>;

/** How long a key is known. */
export const KEPT_MS = 24 * 3_600_000;

/**
 * How long others leave a request to the process that works on it. If that process dies, a repetition goes on from there: it
 * knows the id of what was to be made, and looks whether it is there. So it does no harm if work takes longer than this.
 */
const LOCK_MS = 60_000;
/** Most requests are answered in less. */
const MAX_RETRY_S = 5;

interface Parts {
  queries: Queries;
  clock: Clock;
  newId: () => string;
}

/**
 * Does a request's work once for an idempotency key, and gives each repetition the answer of the first one for
 * {@link KEPT_MS}, without its signing secret. Work that fails is not kept: the same request may try again at once.
 *
 * The returned function throws ProblemError `idempotency_key_reused` or `idempotency_in_progress`, and the errors of the work.
 */
export function createAnswerOnce({ queries, clock, newId }: Parts) {
  return async ({ organizationId, key, requestHash }: KeyedRequest, work: (target: Target) => Promise<unknown>) => {
    const now = clock.now();
    const known = await takeIdempotencyKey(queries, {
      organizationId,
      key,
      requestHash,
      targetId: newId(),
      now,
      lockedUntil: new Date(now.getTime() + LOCK_MS),
      forgottenAt: new Date(now.getTime() - KEPT_MS),
    });
    if (known === null) throw inProgress();
    if (!known.isSameRequest) throw new ProblemError("idempotency_key_reused");
    if (!known.isTaken && known.answer === null) throw inProgress(known.lockedUntil.getTime() - now.getTime());

    if (known.answer !== null) return { answer: JSON.parse(known.answer), isReplayed: true };
    const { targetId } = known;

    /** If this fails, the lock ends by itself, and a repetition finds what was made. */
    async function end(answer: string | null): Promise<void> {
      await endIdempotencyKey(queries, { organizationId, key, targetId, now: clock.now(), answer }).catch(() => {});
    }

    let answer: unknown;
    try {
      answer = await work({ id: targetId, mayExist: known.isKnown });
    } catch (error) {
      // The first request with this key took longer than its lock, and has just inserted the row with this id.
      if (isUniqueViolation(error)) throw inProgress();
      await end(null);
      throw error;
    }
    await end(JSON.stringify(keptAnswer(answer)));
    return { answer, isReplayed: false };
  };
}

function inProgress(lockedMs = 1_000): ProblemError {
  const seconds = Math.min(MAX_RETRY_S, Math.max(1, Math.ceil(lockedMs / 1_000)));
  return new ProblemError("idempotency_in_progress", { headers: { "Retry-After": String(seconds) } });
}

/**
 * The part of an answer that is kept for repetitions of its request: all but a signing secret. A secret that could be shown again
 * would lie open in the database, or under a key that this service would have to hold.
 */
export function keptAnswer(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null || !("signingSecret" in answer)) return answer;
  return { ...answer, signingSecret: null };
}

const PAGE_SIZE = 1_000;

/** Erases the idempotency keys that are no longer known, page by page. Several processes may do this at once. */
export async function forgetKeys(
  { queries, clock }: { queries: Queries; clock: Clock },
  signal: AbortSignal,
): Promise<number> {
  const forgottenAt = new Date(clock.now().getTime() - KEPT_MS);
  let total = 0;
  for (let erased = PAGE_SIZE; erased === PAGE_SIZE && !signal.aborted; ) {
    erased = await eraseIdempotencyKeys(queries, { forgottenAt, pageSize: PAGE_SIZE });
    total += erased;
  }
  return total;
}

export const MAX_KEY_CHARACTERS = 255;
/** Visible ASCII, as UUIDs and most ids of programs are. Keys are compared as they are, with quotes if they have some. */
export const KEY_PATTERN = "^[!-~]+$";

const key = new RegExp(KEY_PATTERN);

/**
 * The idempotency key of a request; undefined if it has none.
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

/** The parts of a request that have to be the same if its key comes again. */
export interface Repeatable {
  operation: string;
  /** The parameters of its path. */
  params: Readonly<Record<string, string>>;
  body: unknown;
  /** The client's. */
  key: string;
}

/** A hash that two requests of one key share if, and only if, they ask for the same thing. */
export function requestHash({ operation, params, body, key }: Repeatable): Buffer {
  const hasHeaders = typeof body === "object" && body !== null && "headers" in body;
  // The hash is stored, and some values of headers can be guessed. The client's key is not stored, and can't be guessed.
  return sha256([operation, params, body, ...(hasHeaders ? [key] : [])]);
}

/** A caller's key as it is kept: others of the organization may use the same text, and learn nothing of it. */
export function ownKey(subject: string, key: string): string {
  return sha256([subject, key]).toString("base64url");
}

function sha256(value: unknown): Buffer {
  return createHash("sha256").update(JSON.stringify(value, sortMembers)).digest();
}

/** The members of an object have no order: two texts of one JSON value give one hash. */
function sortMembers(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
