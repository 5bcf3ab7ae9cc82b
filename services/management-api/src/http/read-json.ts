import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { MIMEType } from "node:util";
import getRawBody, { type RawBodyError } from "raw-body";
import { ProblemError } from "../problems/problem-error.ts";
import { jsonFault } from "../validation/formats.ts";

/**
 * express's parser silently replaces broken UTF-8, and a manual payload has to be sent as it came. Nor does it stop at the limit: it reads a body
 * that is too large to its end before it answers.
 * @throws ProblemError `unsupported_media_type`, `body_too_large` or `malformed_json`
 */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  if (!hasBody(request)) throw malformed("The body is missing.");
  if (!isJson(request)) throw new ProblemError("unsupported_media_type");
  const bytes = await readBytes(request, maxBytes);
  if (!isUtf8(bytes)) throw malformed("The body isn't valid UTF-8.");
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    throw malformed(`The body isn't valid JSON: ${jsonFault(cause)}`, cause);
  }
}

async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  try {
    return await getRawBody(request, { length: request.headers["content-length"] ?? null, limit: maxBytes });
  } catch (error) {
    if ((error as RawBodyError).type === "entity.too.large") throw tooLarge(maxBytes);
    throw malformed("The body ended before it was complete.", error);
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Reads the type and its charset as browsers do (WHATWG MIME Sniffing, Encoding): UTF-8 has other names too, such as `utf8`. */
function isJson({ headers }: IncomingMessage): boolean {
  if ((headers["content-encoding"] ?? "identity").toLowerCase() !== "identity") return false;
  try {
    const { essence, params } = new MIMEType(headers["content-type"] ?? "");
    return essence === "application/json" && new TextDecoder(params.get("charset") ?? "utf-8").encoding === "utf-8";
  } catch {
    // It is no type, or the charset is unknown.
    return false;
  }
}

function malformed(what: string, cause?: unknown): ProblemError {
  return new ProblemError("malformed_json", { detail: `${what} Send a JSON object.`, cause });
}

/** The body behind the limit isn't read, so this connection can carry no further request. */
function tooLarge(maxBytes: number): ProblemError {
  return new ProblemError("body_too_large", {
    detail: `The body is larger than ${maxBytes} bytes, the most that this takes. Send a smaller one.`,
    headers: { Connection: "close" },
  });
}
