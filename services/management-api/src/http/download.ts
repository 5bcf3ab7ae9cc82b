import type { Response } from "express";

/** An answer that is made while it is sent. */
export interface Download {
  /** Its `Content-Type`. */
  type: string;
  /** The name of the file: letters, digits, dots and hyphens. */
  fileName: string;
  /** The texts of the download. They are made one by one, as fast as the client reads, until `signal` says that it has disconnected. */
  pieces: (signal: AbortSignal) => AsyncGenerator<string>;
}

/** A client that reads nothing for this time is disconnected; it may continue with another request. */
const STALL_MS = 60_000;

/**
 * Sends a download with the first piece, so that an error before it is answered with a problem. Resolves when everything was
 * given to the connection, or the client has disconnected.
 *
 * @throws where a piece can't be made. Once something was sent, the caller has to break the connection: a plain end would say that
 * this was all
 */
export async function sendDownload(
  response: Response,
  { type, fileName, pieces }: Download,
  { stallMs = STALL_MS }: { stallMs?: number } = {},
): Promise<void> {
  const disconnected = new AbortController();
  let resume = () => {};
  // One listener, and not one for each wait: the compression in front passes them on, and can't take them back.
  response.on("drain", () => resume());
  response.on("timeout", () => breakOff(response));
  response.once("close", () => {
    disconnected.abort();
    resume();
  });
  if (response.destroyed) return;
  const source = pieces(disconnected.signal);
  try {
    let piece = await source.next();
    if (disconnected.signal.aborted) return;
    response.status(200).set({ "Content-Type": type, "Content-Disposition": `attachment; filename="${fileName}"` });
    const isWanted = response.req.method !== "HEAD";
    while (isWanted && !piece.done) {
      if (!response.write(piece.value)) {
        // The time without any progress: a client may read as slowly as it likes.
        response.setTimeout(stallMs);
        await new Promise<void>((resolve) => {
          resume = resolve;
        });
        response.setTimeout(0);
      }
      if (disconnected.signal.aborted) return;
      piece = await source.next();
    }
    response.setTimeout(stallMs);
    response.end();
  } catch (error) {
    if (!disconnected.signal.aborted) throw error;
  } finally {
    await source.return(undefined);
  }
}

/**
 * Breaks a connection whose answer can't be completed. By a reset: to clients of HTTP/1.0, as some proxies are, a plain end is the
 * end of a whole answer.
 */
export function breakOff(response: Response): void {
  response.socket?.resetAndDestroy();
}
