import type { IncomingMessage } from "node:http";
import { type Agent, type RequestOptions, request } from "node:https";

/** The signing secret of the bench. */
export const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** POSTs a body by node:https, and resolves with the head of the answer. */
export function post(to: RequestOptions & { agent: Agent }, body: Buffer): Promise<IncomingMessage> {
  return new Promise((answered, failed) => {
    request({ ...to, method: "POST" })
      .once("response", answered)
      .once("error", failed)
      .end(body);
  });
}

/** Reads an answer to its end. Resolves with its status. */
export async function wholly(answer: Promise<IncomingMessage>): Promise<number> {
  const response = await answer;
  await new Promise((ended) => response.once("end", ended).resume());
  return response.statusCode ?? 0;
}
