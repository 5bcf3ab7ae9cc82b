/** One thing that is wrong with an event. */
export interface EventProblem {
  /** Where, as in `entityId` or `data.changes.Status.newValue`. */
  field: string;
  /** What it must be. */
  message: string;
}

/** The event breaks Herald's contract: sending it again as it is cannot succeed. Nothing was sent. */
export class InvalidEventError extends Error {
  override readonly name = "InvalidEventError";
  readonly problems: readonly EventProblem[];

  constructor(problems: readonly EventProblem[]) {
    super(`the business event is not valid: ${problems.map(({ field, message }) => `${field} ${message}`).join("; ")}`);
    this.problems = problems;
  }
}

export type NotSentReason =
  /** The emitter could not reach the broker, or the broker took no messages, until the time was up. */
  | "unavailable"
  /** The broker did not confirm in time. It may have the event all the same. */
  | "unconfirmed"
  /** No queue takes events: Herald has never run on this broker, or runs under another namespace. */
  | "unroutable"
  /** The broker refused to take responsibility. */
  | "refused"
  /** `close()` has been called. */
  | "closed";

/**
 * Herald's broker did not confirm the event. Emit it again with the same id: Herald delivers an id once, however often it
 * comes, so this is safe also where the broker has it already.
 */
export class NotSentError extends Error {
  override readonly name = "NotSentError";
  readonly reason: NotSentReason;
  readonly eventId: string;

  constructor(reason: NotSentReason, eventId: string, detail: string) {
    super(`event ${eventId} was not sent: ${detail}. Emitting it again with the same id is safe`);
    this.reason = reason;
    this.eventId = eventId;
  }
}
