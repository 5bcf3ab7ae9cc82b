import { createHash } from "node:crypto";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { RequestHandler } from "express";

/** The encodings that a file may be sent in, the best first. */
const ENCODINGS = ["br", "gzip"] as const;

/** The smallest file that is compressed. A smaller one fits into one packet as it is. */
const SMALLEST_COMPRESSED_BYTES = 1_024;
/** Some tens of milliseconds for the OpenAPI document, and a few per cent longer than the best. */
const BROTLI_QUALITY = 5;
const TEXT = /^\.(css|html|js|svg|txt)$|^text\/|[/+](json|xml)$/;

/**
 * Serves a file that is the same for every client. Requests need no token, so they must be cheap: a text file is compressed once, when the
 * handler is made, and not for each request. A client whose ETag is current gets a 304 without a body.
 * @param options.type a media type, or the file's ending, such as `.js`
 * @param options.cacheControl unless it is given, a cache asks each time whether it has the latest one
 */
export function publicFile(
  content: string | Buffer,
  { type, cacheControl = "no-cache" }: { type: string; cacheControl?: string },
): RequestHandler {
  const bytes = Buffer.from(content);
  const encoded = compressed(bytes, type);
  // Weak: one tag for the text, in whatever encoding it is sent.
  const etag = `W/"${createHash("sha256").update(bytes).digest("base64url")}"`;
  return (request, response) => {
    response.set({ "Cache-Control": cacheControl, ETag: etag, Vary: "Accept-Encoding" }).type(type);
    if (request.fresh) {
      response.status(304).end();
      return;
    }
    const encoding = ENCODINGS.find((each) => encoded[each] !== undefined && request.acceptsEncodings(each) === each);
    const body = (encoding && encoded[encoding]) ?? bytes;
    if (encoding !== undefined) response.set("Content-Encoding", encoding);
    response.set("Content-Length", String(body.length)).end(body);
  };
}

function compressed(bytes: Buffer, type: string): Partial<Record<(typeof ENCODINGS)[number], Buffer>> {
  if (bytes.length < SMALLEST_COMPRESSED_BYTES || !TEXT.test(type)) return {};
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } };
  return { br: brotliCompressSync(bytes, quality), gzip: gzipSync(bytes) };
}
