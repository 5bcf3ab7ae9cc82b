import { spawn } from "node:child_process";
import { once } from "node:events";
import { eventually } from "@herald/dev/harness/eventually";
import { answers, freePort } from "@herald/dev/stack/ports";
import { checkReceiver, signedRequest } from "@herald/listen";

/** Used by nobody else: Base64 like a real one, which a wrong verifier would decode. */
export const EXAMPLE_SECRET = "mT1y+Zq0v9u4m2l8J7hF3kD5sA6pW1xC0eR9tYbNvQs=";

/**
 * Starts a receiver, which listens on PORT and verifies with WEBHOOK_SECRET, and tries it by the table of `herald-listen check`.
 *
 * @throws where a check fails
 */
export async function tryReceiver([program = "", ...args]: readonly string[]): Promise<void> {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), WEBHOOK_SECRET: EXAMPLE_SECRET };
  const child = spawn(program, args, { env, stdio: ["ignore", process.stderr, process.stderr] });
  const ended = new Promise<number | null>((resolve, reject) => child.once("error", reject).once("close", resolve));
  const endedFirst = ended.then((code) => Promise.reject(new Error(`${program} ended with ${code}.`)));
  endedFirst.catch(() => undefined);
  try {
    const listens = eventually(async () => {
      if (!(await answers(port))) throw new Error(`${program} does not listen on its PORT.`);
    });
    await Promise.race([listens, endedFirst]);
    const url = new URL(`http://127.0.0.1:${port}/webhooks`);
    const results = await checkReceiver({ url, secret: EXAMPLE_SECRET });
    const faults = results.filter(({ passed }) => !passed).map(({ title, fault }) => `${title}: ${fault}`);
    if (faults.length > 0) throw new Error(faults.join("\n"));
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "close");
    }
  }
}

/**
 * Tries a program that verifies one request with a library of Standard Webhooks: it has the secret in WEBHOOK_SECRET, id, timestamp
 * and signature as its last arguments and the body as its input, and ends with 0 where it verifies.
 *
 * @throws where it takes a bad request, or refuses a good one
 */
export async function tryVerifier(command: readonly string[]): Promise<void> {
  for (const { what, verifies, ...request } of cases(new Date())) {
    const verified = await verify(command, request);
    if (verified !== verifies) throw new Error(`The library ${verifies ? "refuses" : "takes"} ${what}.`);
  }
}

interface Request {
  /** What the library is given. */
  secret: string;
  id: string;
  timestamp: string;
  signature: string;
  body: Uint8Array;
}

function cases(now: Date): (Request & { what: string; verifies: boolean })[] {
  const body = Buffer.from('{"id":"0199f3a2-7c1e-7b5a-9d3e-1f2a3b4c5d6e", "type":"RiskCreated", "name":"Größe"}');
  const deliveryId = "0199f3a2-7c1e-7b5a-9d3e-1f2a3b4c5d6f";
  const signed = (secret: string, at: Date): Request => {
    const { headers } = signedRequest({ body, eventType: "RiskCreated", deliveryId, secret, now: at });
    const headerOf = (header: string) => headers[headers.indexOf(header) + 1] ?? "";
    const [timestamp, signature] = [headerOf("webhook-timestamp"), headerOf("webhook-signature")];
    return { secret: EXAMPLE_SECRET, id: deliveryId, timestamp, signature, body };
  };
  const good = signed(EXAMPLE_SECRET, now);
  const other = Buffer.from("another secret of the same length").toString("base64");
  return [
    { what: "a good request", verifies: true, ...good },
    { what: "the secret with whsec_ in front", verifies: true, ...good, secret: `whsec_${EXAMPLE_SECRET}` },
    { what: "a changed body", verifies: false, ...good, body: Buffer.from(`${body.toString()} `) },
    { what: "the signature of another secret", verifies: false, ...signed(other, now) },
    { what: "an old request", verifies: false, ...signed(EXAMPLE_SECRET, new Date(now.getTime() - 360_000)) },
    { what: "a forged signature", verifies: false, ...good, signature: `v1,${Buffer.alloc(32).toString("base64")}` },
    { what: "an empty signature", verifies: false, ...good, signature: "v1," },
  ];
}

async function verify([program = "", ...args]: readonly string[], request: Request): Promise<boolean> {
  const { secret, id, timestamp, signature, body } = request;
  const child = spawn(program, [...args, id, timestamp, signature], {
    env: { ...process.env, WEBHOOK_SECRET: secret },
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.stdin.on("error", () => {});
  child.stdin.end(body);
  const [code] = (await once(child, "close")) as [number | null];
  return code === 0;
}
