import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const TOLERANCE_SECONDS = 300;
const BODY_LIMIT_BYTES = 1024 * 1024;

/**
 * @param {import("node:http").IncomingMessage["headersDistinct"]} headers
 * @param {Buffer} rawBody the bytes as received: verify first, parse afterwards
 * @param {string} secret the signing secret, its text as it is
 */
function verify(headers, rawBody, secret) {
  // Each header is there once; a second one, also one that was joined with a comma, would make it ambiguous.
  const names = ["signature", "timestamp", "event", "delivery-id"].map((name) => `x-service-${name}`);
  if (names.some((name) => headers[name]?.length !== 1 || headers[name][0].includes(","))) return false;
  const [[signature], [timestamp]] = names.map((name) => headers[name]);
  if (!/^sha256=[0-9a-f]{64}$/.test(signature)) return false;
  if (!/^(0|[1-9][0-9]{0,15})$/.test(timestamp) || !Number.isSafeInteger(Number(timestamp))) return false;
  if (Math.abs(Math.floor(Date.now() / 1000) - Number(timestamp)) > TOLERANCE_SECONDS) return false;

  const expected = createHmac("sha256", secret).update(`${timestamp}.`).update(rawBody).digest();
  return timingSafeEqual(expected, Buffer.from(signature.slice(7), "hex"));
}

/** Stores the event durably, once for each "id" in it, since it may come twice. Work on it afterwards. */
async function store(rawBody) {
  console.log(`${rawBody.length} bytes`);
}

const secret = process.env.WEBHOOK_SECRET;
if (!secret) throw new Error("Set WEBHOOK_SECRET to the endpoint's signing secret.");

createServer(async (request, response) => {
  const answer = (status) => response.writeHead(status).end();
  try {
    if (request.method !== "POST") return answer(405);
    const chunks = [];
    let bytes = 0;
    for await (const chunk of request) {
      bytes += chunk.length;
      if (bytes <= BODY_LIMIT_BYTES) chunks.push(chunk);
    }
    if (bytes > BODY_LIMIT_BYTES) return answer(413);
    const rawBody = Buffer.concat(chunks);
    if (!verify(request.headersDistinct, rawBody, secret)) return answer(401);
    await store(rawBody);
    answer(204);
  } catch (error) {
    // The sender hung up, or the event could not be stored: Herald sends it again.
    console.error(error);
    answer(500);
  }
}).listen(Number(process.env.PORT ?? 8080), "127.0.0.1");
