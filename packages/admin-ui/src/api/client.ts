import type { FieldProblem, Problem, SessionInfo } from "@herald/contracts";
import { answered, didNotAnswer, keepQuietFor, sessionIs } from "./connection.ts";

const pagePath = "/administration/integrations/";

/** Finds the page and the API by the `<base>` that the server wrote: its BASE_PATH is known only there. No address ends in a slash. */
export function addressesFrom(baseUri: string): Record<"router" | "api" | "schemas", string> {
  const path = new URL(baseUri).pathname;
  const end = path.lastIndexOf(pagePath);
  const basePath = end < 0 ? "" : path.slice(0, end);
  return {
    router: `${basePath}${pagePath.slice(0, -1)}`,
    api: `${basePath}/api/organization/integration-operations`,
    schemas: `${basePath}/schemas/requests`,
  };
}

/** The API's problem, or one without an explanation if something in front of the API answered. */
type SaidProblem = Omit<Problem, "code"> & { code: Problem["code"] | "unexplained" };

export class ApiProblem extends Error {
  readonly status: number;
  readonly problem: SaidProblem;
  readonly retryAfterSeconds: number | null;

  constructor(problem: SaidProblem, retryAfterSeconds: number | null) {
    super(problem.detail);
    this.status = problem.status;
    this.problem = problem;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The API did not answer: no connection, no answer in time, or a gateway's error page. */
export class ApiUnreachable extends Error {}

/** Something in front of the API answered in its place: a proxy that signs people in, with its redirect or its page. */
export class AnsweredByAnother extends Error {
  override message =
    "Something in front of it answered in its place. Your sign-in may have ended: load the page again.";
}

/** A gateway in front of the API answers with these when the API doesn't answer. */
const gatewayStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

async function errorFromResponse(response: Response): Promise<ApiProblem | ApiUnreachable> {
  const isProblem = response.headers.get("content-type")?.includes("problem+json") ?? false;
  if (gatewayStatuses.has(response.status) && !isProblem) {
    return new ApiUnreachable(`It answered ${response.status}.`);
  }
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  const problem: Problem | null = isProblem ? await response.json().catch(() => null) : null;
  const { status } = response;
  const title = `The API answered ${status} and did not say why.`;
  const unexplained = {
    type: "about:blank",
    title,
    status,
    code: "unexplained",
    detail: title,
    requestId: "",
  } as const;
  return new ApiProblem(problem ?? unexplained, Number.isFinite(retryAfter) ? retryAfter : null);
}

/** The complaints about one field of a request body, by its JSON pointer; those about its items count as its own. */
export function problemsOf(errors: readonly FieldProblem[], field: string): FieldProblem[] {
  return errors.filter(({ pointer }) => pointer === `/${field}` || pointer?.startsWith(`/${field}/`));
}

const READ_TIMEOUT_MS = 20_000;
/** A manual delivery waits for its first attempt, which may take 15 s (SPEC 8), and then some. */
const WRITE_TIMEOUT_MS = 45_000;

/** The idempotency keys of a form, by its requests. A request that was not answered keeps its key: sent again, it is done once. */
export type Keys = Map<string, string>;

interface Call {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  body?: unknown;
  signal?: AbortSignal | undefined;
  keys?: Keys;
}

let organization: string | null = null;

/** The page is about the organization of its first session, for good. The API refuses what it asks by the session of another one. */
export function assertAbout({ organizationId }: SessionInfo): void {
  organization ??= organizationId;
  if (organizationId === organization) return;
  sessionIs("another");
  throw new Error("The session is of another organization.");
}

/**
 * Calls a management route; the browser adds the session's cookie. The result is undefined if the answer has no body (204).
 * @throws {ApiProblem} the API said no. {ApiUnreachable} nothing answered. {AnsweredByAnother} not the API answered. An AbortError if `signal` asked for it.
 */
export async function call<T>(path: string, { method = "GET", body, signal, keys }: Call = {}): Promise<T> {
  const text = body === undefined ? null : JSON.stringify(body);
  const request = `${method} ${path} ${text}`;
  // Also without HTTPS, where browsers have no randomUUID.
  const key = keys && (keys.get(request) ?? crypto.getRandomValues(new BigUint64Array(2)).join("-"));
  if (key) keys?.set(request, key);
  const timeout = AbortSignal.timeout(method === "GET" ? READ_TIMEOUT_MS : WRITE_TIMEOUT_MS);
  try {
    const response = await fetch(addressesFrom(document.baseURI).api + path, {
      method,
      headers: {
        accept: "application/json",
        ...(text !== null && { "content-type": "application/json" }),
        // A header takes no other characters than ASCII has.
        ...(organization !== null && { "herald-organization": encodeURIComponent(organization) }),
        ...(key && { "idempotency-key": key }),
      },
      body: text,
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      credentials: "same-origin",
      redirect: "manual",
      cache: "no-store",
    });
    const answer = await read<T>(response);
    keys?.delete(request);
    return answer;
  } catch (error) {
    if (signal?.aborted) throw error;
    const failure = asUnreachable(error, timeout);
    const isRefusedRead = method === "GET" && failure instanceof ApiProblem && failure.status === 429;
    if (isRefusedRead) keepQuietFor(failure.retryAfterSeconds ?? 1);
    if (failure instanceof ApiUnreachable) didNotAnswer();
    throw failure;
  }
}

/** Ends the page's session, and goes where the product ends its own. That one counts, so a failure here stops nothing. */
export async function signOut(url: string): Promise<void> {
  const session = document.baseURI.replace(/integrations\/$/, "session");
  await fetch(session, { method: "DELETE", credentials: "same-origin" }).catch(() => {});
  location.assign(url);
}

async function read<T>(response: Response): Promise<T> {
  const isJson = response.headers.get("content-type")?.includes("json") ?? false;
  // The API itself redirects nothing, and answers nothing but JSON. What was redirected has no headers to read.
  if (response.type === "opaqueredirect" || (response.ok && response.status !== 204 && !isJson)) {
    sessionIs("hidden");
    throw new AnsweredByAnother();
  }
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
  if (error.problem.code === "organization_mismatch") sessionIs("another");
  throw error;
}

/** fetch throws a TypeError for every network failure; a body that is cut off or no JSON ends up here too. */
function asUnreachable(error: unknown, timeout: AbortSignal): unknown {
  if (timeout.aborted) return new ApiUnreachable("It did not answer in time.");
  if (error instanceof TypeError) return new ApiUnreachable("There is no connection to it.");
  if (error instanceof SyntaxError) return new ApiUnreachable("Its answer could not be read.");
  return error;
}
