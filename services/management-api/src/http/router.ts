import { type ApiLimits, isUuid } from "@herald/contracts";
import { type Request, type RequestHandler, type Response, Router } from "express";
import type { Authenticate } from "../authentication/authenticate.ts";
import { idempotencyKeyOf, requestHash } from "../idempotency/keyed-request.ts";
import type { ConnectionLimits, KeyedLimiter } from "../limits/connection-limits.ts";
import type { RateLimits } from "../limits/rate-limits.ts";
import { notFound, type Operation, type OperationId, operationsByPath, pointsOf } from "../operations.ts";
import type { ApiRequest, Handlers } from "../parts.ts";
import { invalidRequest, ProblemError } from "../problems/problem-error.ts";
import type { ApiValidator } from "../validation/validator.ts";
import { readJson } from "./read-json.ts";

/** The `Allow` header of a path that takes these methods, in lower case. HEAD is GET without the body. */
export function allowOf(methods: readonly string[]): string {
  return methods.flatMap((method) => (method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()])).join(", ");
}

/** Refuses every method that a path doesn't take; it stands behind the routes of those that the path takes. */
export function refuseOtherMethods(methods: readonly string[]): RequestHandler {
  const allowed = allowOf(methods);
  return () => {
    throw new ProblemError("method_not_allowed", { detail: `This takes ${allowed}.`, headers: { Allow: allowed } });
  };
}

export interface RouterParts {
  authenticate: Authenticate;
  rateLimits: RateLimits;
  connections: ConnectionLimits;
  validator: ApiValidator;
  handlers: Handlers;
  limits: ApiLimits;
}

/** Routes every operation: authenticate, allow, count, read, validate, handle, answer. */
export function apiRouter(parts: RouterParts): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const [path, operations] of operationsByPath()) {
    const route = router.route(path.replace(/\{(\w+)\}/g, ":$1"));
    for (const [id, operation] of operations) {
      route[operation.method](async (request, response) => {
        response.locals.operation = id;
        response.locals.route = path;
        const admitted = await admit(request, response, id, operation, parts);
        const handle = () => parts.handlers[id](admitted);
        const limiter = limiterOf(operation, request.query, parts.connections);
        const result = limiter ? await limiter.run(admitted.organizationId, handle) : await handle();
        response.status(operation.success.status);
        if (operation.success.status === 204) response.end();
        else response.json(result);
      });
    }
    route.all(refuseOtherMethods(operations.map(([, { method }]) => method)));
  }
  return router;
}

/** A manual delivery takes turns by itself, since it waits for its receiver between its statements. The session reads nothing. */
function limiterOf(
  operation: Operation,
  query: object,
  { simpleReads, expensiveReads, writes }: ConnectionLimits,
): KeyedLimiter | undefined {
  if (operation.rate === "reads") return pointsOf(operation, query) > 1 ? expensiveReads : simpleReads;
  return operation.rate === "writes" ? writes : undefined;
}

/** Prepares a request for its handler. The caller is known and allowed before a byte of the body is read. @throws ProblemError */
async function admit(
  request: Request,
  response: Response,
  id: OperationId,
  operation: Operation,
  { authenticate, rateLimits, validator, limits }: RouterParts,
): Promise<ApiRequest> {
  const caller = await authenticate(request, operation.access);
  response.locals.caller = caller;
  const organizationId = caller.organizationId ?? "";
  if (operation.rate) {
    response.set(await rateLimits.consume(operation.rate, organizationId, pointsOf(operation, request.query)));
  }

  const params = idsOf(request.params as Record<string, string>);
  response.locals.endpointId = params.id;
  const query = validator.query(operation.query, request.query);
  const body = operation.body ? await readJson(request, maxBodyBytes(operation, limits)) : undefined;
  const badFields = operation.body ? validator.body(operation.body, body) : [];
  const isRefused = operation.reportsBadFields ? badFields.some(({ pointer }) => pointer === "") : badFields.length > 0;
  if (isRefused || query.problems.length > 0) throw invalidRequest([...query.problems, ...badFields]);
  const { traceparent } = response.locals;
  const key = operation.takesIdempotencyKey && idempotencyKeyOf(request);
  const { subject } = caller;
  const hash = key ? requestHash({ organizationId, subject, key, operation: id, params, body }) : null;
  return { caller, organizationId, params, query: query.values, body, badFields, traceparent, requestHash: hash };
}

/** JSON may write any character as \uXXXX, so a text can become six times as long. */
const ESCAPED = 6;
const REST_OF_BODY_BYTES = 16 * 1024;

function maxBodyBytes(operation: Operation, limits: ApiLimits): number {
  const longest =
    operation.body === "DeliverRequest" ? limits.payloadBytes : limits.nameCharacters * 2 + limits.urlCharacters;
  return longest * ESCAPED + REST_OF_BODY_BYTES;
}

/** Ids in PostgreSQL's spelling; some clients write capitals. Then an id can be a key of a map, part of a hash, or the context of a sealed secret. */
function idsOf(params: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => {
      if (!isUuid(value)) throw new ProblemError(notFound(name));
      return [name, value.toLowerCase()];
    }),
  );
}
