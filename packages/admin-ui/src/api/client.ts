import { addressesFrom } from "./addresses.ts";
import { answered, didNotAnswer, keepQuietFor, sessionIs, watchRequest } from "./connection.ts";
import { ApiProblem, ApiUnreachable, errorFromResponse } from "./problem.ts";

const READ_TIMEOUT_MS = 20_000;
/** A manual delivery waits for its first attempt, which may take 15 s (SPEC 8), and then some. */
const WRITE_TIMEOUT_MS = 45_000;

type Method = "GET" | "POST" | "PUT" | "DELETE";

interface Call {
  method?: Method;
  body?: unknown;
  signal?: AbortSignal | undefined;
}

/**
 * Calls a management route; the browser adds the session's cookie.
 * @param path below `/api/organization/integration-operations`, with its leading slash.
 * @returns the parsed answer; undefined where there is none (204).
 * @throws {ApiProblem} the API said no. {ApiUnreachable} nothing answered. An AbortError where `signal` asked for it.
 */
export async function call<T>(path: string, { method = "GET", body, signal }: Call = {}): Promise<T> {
  const timeout = AbortSignal.timeout(method === "GET" ? READ_TIMEOUT_MS : WRITE_TIMEOUT_MS);
  const done = watchRequest();
  try {
    const response = await fetch(addressesFrom(document.baseURI).api + path, {
      method,
      headers: body === undefined ? { accept: "application/json" } : jsonHeaders,
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      credentials: "same-origin",
      redirect: "error",
      cache: "no-store",
    });
    return await read<T>(response);
  } catch (error) {
    if (signal?.aborted) throw error;
    const failure = asUnreachable(error, timeout);
    const isRefusedRead = method === "GET" && failure instanceof ApiProblem && failure.status === 429;
    if (isRefusedRead) keepQuietFor(failure.retryAfterSeconds ?? 1);
    if (failure instanceof ApiUnreachable) didNotAnswer();
    throw failure;
  } finally {
    done();
  }
}

const jsonHeaders = { accept: "application/json", "content-type": "application/json" };

async function read<T>(response: Response): Promise<T> {
  if (response.ok) {
    const value = response.status === 204 ? undefined : await response.json();
    answered(response.headers.get("date"));
    sessionIs("alive");
    return value as T;
  }
  const error = await errorFromResponse(response);
  if (error instanceof ApiUnreachable) throw error;
  answered(response.headers.get("date"));
  if (error.status === 401) sessionIs("lost", error.problem.signInUrl ?? null);
  throw error;
}

/** fetch throws a TypeError for every network failure; a body that is cut off or no JSON ends up here too. */
function asUnreachable(error: unknown, timeout: AbortSignal): unknown {
  if (timeout.aborted) return new ApiUnreachable("It did not answer in time.");
  if (error instanceof TypeError) return new ApiUnreachable("There is no connection to it.");
  if (error instanceof SyntaxError) return new ApiUnreachable("Its answer could not be read.");
  return error;
}
