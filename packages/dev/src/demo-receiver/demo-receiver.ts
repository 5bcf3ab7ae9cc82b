import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describeRequest, type ReceivedRequest, type Refused, receiveRequest, verdictOn } from "@herald/listen";

const HOST = "127.0.0.1";

/** How the demo receiver treats what verifies. */
interface Behaviour {
  /** `answer` answers; `hang` takes the request and never answers; `cut` drops the connection. */
  mode: "answer" | "hang" | "cut";
  status: number;
  /** How long the sender waits for it. */
  delayMs: number;
}

const POLITE: Behaviour = { mode: "answer", status: 200, delayMs: 0 };
const MODES: readonly unknown[] = ["answer", "hang", "cut"];
const LIMITS = { status: [200, 599], delayMs: [0, 120_000] } as const;

export interface DemoReceiverOptions {
  /** 0 takes any free port. */
  port: number;
  /** PEM. */
  tls: { cert: string; key: string };
  /**
   * The signing secrets that are in use now, such as a reading of the local database. It is called again whenever no
   * known secret fits a request; what it throws is printed.
   */
  secrets: () => Promise<readonly string[]> | readonly string[];
  print: (text: string) => void;
  colour?: boolean;
}

export interface DemoReceiver {
  /** Where endpoints point to: `https://127.0.0.1:port/hooks`. */
  url: string;
  /** The base of the control API, without a slash at its end. */
  controlUrl: string;
  close(): Promise<void>;
}

/**
 * Starts an HTTPS receiver that verifies what arrives, prints it, and can be set to fail, to be slow, to hang or to cut
 * the connection, by `PUT /control`. Rejects if the port cannot be had.
 */
export async function startDemoReceiver(options: DemoReceiverOptions): Promise<DemoReceiver> {
  const { port, tls, print, colour = false } = options;
  let behaviour = POLITE;
  let readSecrets: readonly string[] = [];
  const closing = new AbortController();
  let controlUrl = "";

  const server = createServer(tls, (request, response) => {
    handle(request, response).catch((error: Error) => {
      if (closing.signal.aborted) return;
      print(`demo receiver: a request could not be handled: ${error.message}`);
      response.destroy();
    });
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "https://receiver.invalid");
    if (request.method === "PUT" && url.pathname === "/control") return await control(request, response);
    if (request.method !== "POST") return void response.writeHead(404).end(help(controlUrl));

    const received = await receiveRequest(request, { secrets: readSecrets });
    if (fitsNoSecret(received.verdict)) {
      // They change with every new endpoint and every rotation.
      try {
        readSecrets = await options.secrets();
      } catch (error) {
        print(`demo receiver: secrets cannot be read: ${(error as Error).message}`);
      }
      received.verdict = verdictOn(received, { secrets: readSecrets }, received.receivedAt);
    }

    await answer(behaviour, received, response);
  }

  /** An unverified request never succeeds. */
  async function answer({ mode, status, delayMs }: Behaviour, received: ReceivedRequest, response: ServerResponse) {
    const { verdict } = received;
    const refusal = !verdict.ok && (verdict.reason === "body_too_large" ? 413 : 401);
    const after = delayMs > 0 ? ` after ${delayMs} ms` : "";
    const words = { answer: `${refusal || status}${after}`, hang: "no answer (hangs)", cut: `connection cut${after}` };
    print(describeRequest(received, { answer: words[mode], colour }));
    if (mode === "hang") return;
    if (delayMs > 0) await sleep(delayMs, undefined, { signal: closing.signal });
    if (mode === "cut") return void response.destroy();
    if (status >= 300 && status < 400) response.setHeader("Location", "/hooks");
    response.writeHead(refusal || status);
    if (!verdict.ok) response.end(`${verdict.reason}: ${verdict.message}\n`);
    else response.end(status < 300 ? undefined : `set to answer ${status}\n`);
  }

  /** Answers the operator. Bodies must say that they are JSON, which no foreign page in a browser can do unasked. */
  async function control(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      behaviour = behaviourOf(await readJson(request));
      response.writeHead(200, { "Content-Type": "application/json" }).end(`${JSON.stringify(behaviour)}\n`);
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error;
      response.writeHead(400, { "Content-Type": "text/plain" }).end(`${error.message}\n`);
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, HOST, resolve);
  });
  controlUrl = `https://${HOST}:${(server.address() as AddressInfo).port}`;
  return {
    url: `${controlUrl}/hooks`,
    controlUrl,
    close: () => {
      closing.abort();
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** @throws RangeError with the field's name, if a value is not valid */
function behaviourOf(asked: Record<string, unknown>) {
  const { mode, status, delayMs }: Record<string, unknown> = { ...POLITE, ...asked };
  if (!MODES.includes(mode)) throw new RangeError(`mode must be one of ${MODES.join(", ")}`);
  for (const [name, value] of Object.entries({ status, delayMs })) {
    const [min, max] = LIMITS[name as keyof typeof LIMITS];
    if (!Number.isInteger(value) || (value as number) < min || (value as number) > max)
      throw new RangeError(`${name} must be a whole number from ${min} to ${max}`);
  }
  return { mode, status, delayMs } as Behaviour;
}

function fitsNoSecret(verdict: ReceivedRequest["verdict"]): verdict is Refused {
  return !verdict.ok && (verdict.reason === "no_secret" || verdict.reason === "signature_mismatch");
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const body = await text(request);
  if (body === "") return {};
  if (!request.headers["content-type"]?.startsWith("application/json")) {
    throw new RangeError("send Content-Type: application/json");
  }
  const parsed: unknown = JSON.parse(body);
  if (typeof parsed !== "object" || parsed === null) throw new RangeError("send a JSON object");
  return parsed as Record<string, unknown>;
}

/** The answer to a browser. */
function help(controlUrl: string): string {
  return `Herald's demo receiver. Point an endpoint at ${controlUrl}/hooks and it answers 200 to what verifies.

  PUT ${controlUrl}/control   {"status", "delayMs", "mode": "answer" | "hang" | "cut"}

`;
}
