import type { ApiLimits } from "@herald/contracts";
import { type Request, type RequestHandler, type Response, Router } from "express";
import type { Authenticate } from "../authentication/authenticate.ts";
import type { Caller } from "../authentication/caller.ts";
import type { ApiRequest, Handlers } from "../handlers.ts";
import { type Operation, operationEntries } from "../operations.ts";
import { ProblemError } from "../problems/problem-error.ts";
import type { apiValidator } from "../validation/validator.ts";
import type { RateLimits } from "./rate-limits.ts";
import { parseBody, readBody } from "./read-body.ts";

export interface RouterParts {
  authenticate: Authenticate;
  rateLimits: RateLimits;
  validator: ReturnType<typeof apiValidator>;
  handlers: Handlers;
  limits: ApiLimits;
}

/** Routes every operation: authenticate, allow, count, read, validate, handle, answer. */
export function apiRouter(parts: RouterParts): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const [id, operation] of operationEntries) {
    const path = expressPath(operation.path);
    router[operation.method](path, ...stepsBefore(operation, parts), async (request, response) => {
      const result = await parts.handlers[id](validated(request, response, operation, parts));
      response.status(operation.success.status);
      if (operation.success.status === 204) response.end();
      else response.json(result);
    });
  }
  for (const [path, methods] of methodsByPath()) {
    router.all(expressPath(path), () => {
      throw new ProblemError("method_not_allowed", {
        detail: `Here are ${methods.join(", ")}.`,
        headers: { Allow: methods.join(", ") },
      });
    });
  }
  return router;
}

/** The caller is known and allowed before a byte of the body is read. */
function stepsBefore(operation: Operation, { authenticate, rateLimits, limits }: RouterParts): RequestHandler[] {
  const admit: RequestHandler = async (request, response, next) => {
    const caller = await authenticate(request, operation.access);
    response.locals.caller = caller;
    if (operation.rate) await rateLimits.take(operation.rate, caller.organizationId ?? "");
    next();
  };
  return operation.body ? [admit, readBody(maxBodyBytes(operation, limits))] : [admit];
}

/** JSON may write any character as \uXXXX, so a text can take six times its bytes. */
const ESCAPED = 6;
const REST_OF_BODY_BYTES = 16 * 1024;

function maxBodyBytes(operation: Operation, limits: ApiLimits): number {
  const longest =
    operation.body === "DeliverRequest" ? limits.payloadBytes : limits.nameCharacters * 2 + limits.urlCharacters;
  return longest * ESCAPED + REST_OF_BODY_BYTES;
}

/** @throws ProblemError 400 or 415 */
function validated(request: Request, response: Response, operation: Operation, { validator }: RouterParts): ApiRequest {
  const query = { ...request.query };
  const body = operation.body ? parseBody(request) : undefined;
  const errors = [
    ...(operation.query ? validator.query(operation.query, query) : []),
    ...(operation.body ? validator.body(operation.body, body) : []),
  ];
  if (errors.length > 0) throw new ProblemError("invalid_request", { errors });
  const caller = response.locals.caller as Caller;
  return {
    caller,
    organizationId: caller.organizationId ?? "",
    params: request.params as Record<string, string>,
    query,
    body,
  };
}

function expressPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

function methodsByPath(): Map<string, string[]> {
  const methods = new Map<string, string[]>();
  for (const [, { path, method }] of operationEntries) {
    methods.set(path, [...(methods.get(path) ?? []), method.toUpperCase()]);
  }
  return methods;
}
