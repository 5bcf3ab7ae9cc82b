import type { FieldProblem, Problem } from "@herald/contracts";

/** What the API said, or, where something before it answered, that nothing was said. */
type SaidProblem = Omit<Problem, "code"> & { code: Problem["code"] | "unexplained" };

/** The API refused a request; `problem` says why. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly problem: SaidProblem;
  /** Seconds to wait that the answer asked for, if it did. */
  readonly retryAfterSeconds: number | null;

  constructor(problem: SaidProblem, retryAfterSeconds: number | null = null) {
    super(problem.detail);
    this.name = "ApiProblem";
    this.status = problem.status;
    this.problem = problem;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The API did not answer: no connection, no answer in time, or a gateway's error page. */
export class ApiUnreachable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "ApiUnreachable";
  }
}

/** A gateway in front of the API answers with these when the API doesn't answer. */
const gatewayStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

/** Reads a failed answer into the error that the page shows. */
export async function errorFromResponse(response: Response): Promise<ApiProblem | ApiUnreachable> {
  const isProblem = response.headers.get("content-type")?.includes("problem+json") ?? false;
  if (gatewayStatuses.has(response.status) && !isProblem) {
    return new ApiUnreachable(`It answered ${response.status}.`);
  }
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  const problem = isProblem ? await readProblem(response) : null;
  return new ApiProblem(problem ?? unexplained(response.status), Number.isFinite(retryAfter) ? retryAfter : null);
}

function unexplained(status: number): SaidProblem {
  const title = `The API answered ${status} and did not say why.`;
  return { type: "about:blank", title, status, code: "unexplained", detail: title, requestId: "" };
}

async function readProblem(response: Response): Promise<Problem | null> {
  try {
    return (await response.json()) as Problem;
  } catch {
    return null;
  }
}

/** The complaints about one field of a request body, by its JSON pointer; those about its items count as its own. */
export function problemsOf(errors: readonly FieldProblem[], field: string): FieldProblem[] {
  return errors.filter(({ pointer }) => pointer === `/${field}` || pointer?.startsWith(`/${field}/`));
}
