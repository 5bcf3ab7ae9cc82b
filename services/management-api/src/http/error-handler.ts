import { isDatabaseOutage, isOutOfTime, withRemedy } from "@herald/common/database/errors";
import type { Log } from "@herald/common/telemetry/log";
import { PROBLEMS } from "@herald/contracts";
import type { ErrorRequestHandler } from "express";
import { ProblemError, toProblem } from "../problems/problem-error.ts";

const DATABASE_RETRY_S = 5;

/** Only faults of our own are logged as errors: an outage has lines of its own, and of PostgreSQL's the log itself knows. */
export function errorHandler({ log, signInUrl }: { log: Log; signInUrl?: string | undefined }): ErrorRequestHandler {
  // express recognizes error handlers by their four parameters.
  return (error: unknown, request, response, _next) => {
    const requestId = String(response.locals.requestId);
    const problem = problemOf(error, request.method);
    if (response.headersSent) {
      log.error("an answer broke off", { requestId, method: request.method, code: problem.code, error });
      // By a reset: clients of HTTP/1.0, as some proxies are, take a plain end for the end of a whole answer.
      response.socket?.resetAndDestroy();
      return;
    }
    const { status } = PROBLEMS[problem.code];
    if (status >= 500 && problem.code !== "key_server_unavailable") {
      log.error(withRemedy("a request failed", error), {
        requestId,
        method: request.method,
        code: problem.code,
        error,
      });
    }
    response.locals.problemCode = problem.code;
    if (problem.facts.isForOperator) response.locals.problemDetail = problem.facts.detail;
    const challenge = challengeOf(problem);
    if (challenge) response.set("WWW-Authenticate", challenge);
    response.set(problem.facts.headers ?? {});
    const facts = status === 401 ? { ...problem.facts, signInUrl } : problem.facts;
    response.status(status).type("application/problem+json");
    response.send(JSON.stringify(toProblem({ code: problem.code, facts }, requestId)));
  };
}

/** RFC 6750: an error is named only if a token was sent. */
function challengeOf({ code, status }: ProblemError): string | undefined {
  if (status !== 401) return undefined;
  return code === "token_invalid" || code === "token_expired" ? 'Bearer error="invalid_token"' : "Bearer";
}

function problemOf(error: unknown, method: string): ProblemError {
  if (error instanceof ProblemError) return error;
  if (isOutOfTime(error) && (method === "GET" || method === "HEAD")) {
    return new ProblemError("read_out_of_time", { headers: { "Retry-After": String(DATABASE_RETRY_S) } });
  }
  if (isDatabaseOutage(error)) {
    return new ProblemError("database_unavailable", { headers: { "Retry-After": String(DATABASE_RETRY_S) } });
  }
  // A path that can't be decoded, e.g. %ff.
  if (error instanceof URIError) return new ProblemError("route_not_found");
  return new ProblemError("internal_error");
}
