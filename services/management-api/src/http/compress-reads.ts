import compression from "compression";
import type { RequestHandler } from "express";

const WORTH_IT_BYTES = 1_024;

/**
 * Compresses what is read: an overview of 100 endpoints is 290 KB of text, and 15 KB compressed. What is written is left
 * alone, since its answers can hold a secret beside something that the caller chose, and the length of both compressed
 * together would tell of the one through the other.
 */
export const compressReads: RequestHandler = compression({
  threshold: WORTH_IT_BYTES,
  filter: (request, response) => request.method === "GET" && compression.filter(request, response),
});
