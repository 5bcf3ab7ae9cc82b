import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describeRequest, type ReceivedRequest, type Refused, receiveRequest, verdictOn } from "@herald/listen";
import { attemptCounter, type Plan, planFor, politeBehaviour, withChanges } from "./behaviour.ts";

const HOST = "127.0.0.1";

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
 * the connection: by the endpoint's URL (`behaviourOf`) or, for all that ask for nothing, by `PUT /control`.
 * Rejects where the port cannot be had.
 */
export async function startDemoReceiver(options: DemoReceiverOptions): Promise<DemoReceiver> {
  const { port, tls, print, colour = false } = options;
  /** The behaviour for endpoints whose URL asks for nothing else. */
  let standing = politeBehaviour;
  let readSecrets: readonly string[] = [];
  const attempts = attemptCounter();
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

    const plan = planFor(url, standing, received, attempts);
    print(describeRequest(received, { answer: plan.text, colour }));
    await carryOut(plan, response, closing.signal);
  }

  /** Answers the operator. Bodies must say that they are JSON, which no foreign page in a browser can do unasked. */
  async function control(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      standing = withChanges(politeBehaviour, await readJson(request));
      response.writeHead(200, { "Content-Type": "application/json" }).end(`${JSON.stringify(standing)}\n`);
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

async function carryOut(plan: Plan, response: ServerResponse, signal: AbortSignal): Promise<void> {
  if (plan.mode === "hang") return;
  if (plan.delayMs > 0) await sleep(plan.delayMs, undefined, { signal });
  if (plan.status === null) return void response.destroy();
  response.writeHead(plan.status, {
    ...(plan.status >= 300 && plan.status < 400 ? { Location: "/hooks" } : {}),
    ...(plan.body ? { "Content-Type": "text/plain; charset=utf-8" } : {}),
  });
  response.end(plan.body ? `${plan.body}\n` : undefined);
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

  ${controlUrl}/hooks?status=500&delayMs=2000   answers so, that late
  ${controlUrl}/hooks?failTimes=2               fails the first two attempts of each delivery
  ${controlUrl}/hooks/hang                      never answers
  ${controlUrl}/hooks/cut                       cuts the connection

  PUT ${controlUrl}/control   {"status", "delayMs", "failTimes", "mode": "answer" | "hang" | "cut"}

`;
}
