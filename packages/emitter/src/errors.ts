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
