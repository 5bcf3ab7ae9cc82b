import { ApiProblem, ApiUnreachable } from "../../api/problem.ts";
import { Notice } from "./Notice.tsx";

/** Why something that was asked for didn't happen, in the API's words where it gave any. */
export function ProblemNotice({ error, what }: { error: unknown; what: string }) {
  return (
    <Notice tone="bad" title={what} urgent>
      <p>{reason(error)}</p>
    </Notice>
  );
}

function reason(error: unknown): string {
  if (error instanceof ApiProblem) {
    const wait = error.retryAfterSeconds ? ` Try again in ${error.retryAfterSeconds} s.` : "";
    const support = error.problem.requestId ? ` (Request ${error.problem.requestId}.)` : "";
    return `${error.message}${wait}${error.status >= 500 ? support : ""}`;
  }
  if (error instanceof ApiUnreachable) return `The API can't be reached. ${error.message} Try again.`;
  return error instanceof Error ? error.message : String(error);
}
