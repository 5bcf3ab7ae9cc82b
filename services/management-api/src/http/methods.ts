import type { RequestHandler } from "express";
import { ProblemError } from "../problems/problem-error.ts";

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
