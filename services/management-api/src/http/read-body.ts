import { isUtf8 } from "node:buffer";
import express, { type Request, type RequestHandler } from "express";
import { ProblemError } from "../problems/problem-error.ts";

/**
 * Reads a body of JSON as raw bytes, which {@link parseBody} then takes: a parser that decodes by itself would silently
 * replace broken UTF-8, and a manual payload has to be sent as it came.
 */
export function readBody(maxBytes: number): RequestHandler {
  return express.raw({ type: isJson, limit: maxBytes, inflate: false });
}

const JSON_TYPE = /^application\/json *(;|$)/i;
const CHARSET = /; *charset *= *"?([^;"\s]+)/i;

function isJson({ headers }: { headers: { "content-type"?: string | undefined } }): boolean {
  const type = headers["content-type"] ?? "";
  return JSON_TYPE.test(type) && (CHARSET.exec(type)?.[1] ?? "utf-8").toLowerCase() === "utf-8";
}

/** @throws ProblemError `unsupported_media_type` or `malformed_json` */
export function parseBody(request: Request): unknown {
  if (!hasBody(request))
    throw new ProblemError("malformed_json", { detail: "The body is missing. Send a JSON object." });
  if (!isJson(request)) throw new ProblemError("unsupported_media_type");
  const bytes = request.body as Buffer;
  if (!isUtf8(bytes)) throw new ProblemError("malformed_json", { detail: "The body isn't valid UTF-8." });
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    throw new ProblemError("malformed_json", { detail: "The body isn't valid JSON. Send a JSON object.", cause });
  }
}

function hasBody({ headers }: Request): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}
