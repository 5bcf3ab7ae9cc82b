import { connect } from "node:net";

export interface RawAnswer {
  status: number;
  /** The whole answer. */
  text: string;
  body: string;
}

/** The head of a request, made of its lines. */
export const head = (...lines: string[]) => [...lines, "Host: herald.test", "", ""].join("\r\n");

/** Only proves an absence, if the server neither answers nor hangs up. Every other request ends its connection. */
const SILENCE_MS = 5_000;

/**
 * Sends bytes as they are. Resolves with the answers that came until the server hung up, or until nothing came for
 * {@link SILENCE_MS}: a test that expects an answer asks for "Connection: close".
 */
export function sendRaw(origin: string, request: string): Promise<RawAnswer[]> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(Number(new URL(origin).port), "127.0.0.1", () => socket.write(request, "latin1"));
    socket.setEncoding("latin1").on("data", (data: string) => {
      text += data;
    });
    socket.setTimeout(SILENCE_MS, () => socket.destroy());
    socket.on("end", () => socket.end());
    socket.on("error", () => {});
    socket.on("close", () => {
      const parts = text.split(/(?=HTTP\/1\.1 \d{3} )/).filter((part) => part !== "");
      resolve(
        parts.map((part) => ({
          status: Number(part.slice(9, 12)),
          text: part,
          body: part.slice(part.indexOf("\r\n\r\n") + 4),
        })),
      );
    });
  });
}
