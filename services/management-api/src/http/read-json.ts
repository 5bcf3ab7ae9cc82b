import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { ProblemError } from "../problems/problem-error.ts";

/**
 * Reads a request's body as JSON.
 *
 * Not express's parser: that one silently replaces broken UTF-8, where a manual payload has to be sent as it came, and it
 * reads what is too large to the end before it says so.
 *
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
    throw malformed("The body isn't valid JSON.", cause);
  }
}

async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers["content-length"]) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // The response needs the socket that destroying the request would close.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    throw malformed("The body ended before it was complete.", error);
  }
  return Buffer.concat(chunks);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

const JSON_TYPE = /^application\/json *(;|$)/i;
const CHARSET = /; *charset *= *"?([^;"\s]+)/i;

function isJson({ headers }: IncomingMessage): boolean {
  const type = headers["content-type"] ?? "";
  if ((headers["content-encoding"] ?? "identity").toLowerCase() !== "identity") return false;
  return JSON_TYPE.test(type) && (CHARSET.exec(type)?.[1] ?? "utf-8").toLowerCase() === "utf-8";
}

function malformed(what: string, cause?: unknown): ProblemError {
  return new ProblemError("malformed_json", { detail: `${what} Send a JSON object.`, cause });
}

/** What comes behind the limit isn't read, so nothing else can come over this connection. */
function tooLarge(maxBytes: number): ProblemError {
  return new ProblemError("body_too_large", {
    detail: `The body is larger than ${maxBytes} bytes, the most that this takes. Send a smaller one.`,
    headers: { Connection: "close" },
  });
}
