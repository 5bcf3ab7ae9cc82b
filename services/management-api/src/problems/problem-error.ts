import { type FieldProblem, PROBLEMS, type Problem, type ProblemCode } from "@herald/contracts";

export interface ProblemFacts {
  /** The facts of this case and the remedy; the catalogue's action if absent. */
  detail?: string;
  errors?: FieldProblem[];
  missing?: string[];
  signInUrl?: string | undefined;
  /** The request's line of the log has the detail: a setting has to be corrected. */
  isForOperator?: boolean;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** Thrown anywhere below a route to answer the request with a problem of the catalogue. */
export class ProblemError extends Error {
  readonly code: ProblemCode;
  readonly facts: ProblemFacts;

  constructor(code: ProblemCode, facts: ProblemFacts = {}) {
    super(`${code}: ${facts.detail ?? PROBLEMS[code].title}`, { cause: facts.cause });
    this.name = "ProblemError";
    this.code = code;
    this.facts = facts;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

export function invalidRequest(errors: FieldProblem[]): ProblemError {
  const names = errors.map(({ pointer, parameter }) => parameter ?? (pointer?.slice(1) || "the body"));
  return new ProblemError("invalid_request", {
    detail: `Not acceptable: ${names.join(", ")}. Correct what errors lists, and send the request again.`,
    errors,
  });
}

export function toProblem({ code, facts }: { code: ProblemCode; facts: ProblemFacts }, requestId: string): Problem {
  const { status, title, action } = PROBLEMS[code];
  return {
    type: `urn:herald:problem:${code.replaceAll("_", "-")}`,
    title,
    status,
    code,
    // The catalogue's texts are Markdown, with names in backquotes.
    detail: facts.detail ?? action.replaceAll("`", ""),
    requestId,
    ...(facts.errors && { errors: facts.errors }),
    ...(facts.missing && { missing: facts.missing }),
    ...(facts.signInUrl && { signInUrl: facts.signInUrl }),
  };
}
