import { createHmac } from "node:crypto";
import type { ReceivedRequest } from "@herald/testkit/harness/https-receiver";

/** SPEC 4.3, written down once more and not shared with the sender, so that both can't be wrong in the same way. */
export function receivedSignatureIsRight(request: ReceivedRequest | undefined, secret: string | null): boolean {
  if (request === undefined || secret === null) throw new Error("There is no request or no secret to compare.");
  const timestamp = String(request.headers["x-service-timestamp"]);
  const digest = createHmac("sha256", secret).update(`${timestamp}.`).update(request.body).digest("hex");
  return request.headers["x-service-signature"] === `sha256=${digest}`;
}
