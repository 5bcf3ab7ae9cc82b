/** One field of a request that can't be accepted. */
export interface FieldProblem {
  /** JSON pointer into the request body, "" for the body itself; for a query parameter "?" and its name. */
  pointer: string;
  /** Stable, for programs: what is wrong with the field. */
  code: string;
  /** For the person who filled it in: what is wrong, and what would be right. */
  detail: string;
}

/** Body of every error response, as `application/problem+json` (RFC 9457). */
export interface Problem {
  /** Stable URN of the kind of problem. */
  type: string;
  /** The kind of problem in a few words; the same for each problem of a type. */
  title: string;
  status: number;
  /** Stable name of the kind of problem, for programs. */
  code: string;
  /** What happened this time, and what to do about it. */
  detail: string;
  /** Names this response in Herald's log; for support. */
  requestId: string;
  /** Every bad field, where `status` is 400 and fields are the reason. */
  errors?: FieldProblem[];
  /** Everything that the caller lacks, where `status` is 403, e.g. "permission integrations.manage". */
  missing?: string[];
  /** Where a person signs in, where `status` is 401 and the service has been told. */
  signInUrl?: string;
}
