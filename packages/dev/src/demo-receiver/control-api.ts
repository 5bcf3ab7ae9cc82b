import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { type Behaviour, politeBehaviour, withChanges } from "./behaviour.ts";

export interface Controlled {
  /** The behaviour for endpoints whose URL asks for nothing else. */
  standing: Behaviour;
}

/** Whether a request is the operator's, not a delivery. */
export function isControl(request: IncomingMessage, url: URL): boolean {
  return request.method === "PUT" && url.pathname === "/control";
}

/** Answers the operator. Bodies must say that they are JSON, which no foreign page in a browser can do unasked. */
export async function control(
  controlled: Controlled,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    controlled.standing = withChanges(politeBehaviour, await readJson(request));
    answer(response, 200, controlled.standing);
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error;
    answer(response, 400, { message: error.message });
  }
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

function answer(response: ServerResponse, status: number, json: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(`${JSON.stringify(json)}\n`);
}

/** The answer to a browser. */
export function help(controlUrl: string): string {
  return `Herald's demo receiver. Point an endpoint at ${controlUrl}/hooks and it answers 200 to what verifies.

  ${controlUrl}/hooks?status=500&delayMs=2000   answers so, that late
  ${controlUrl}/hooks?failTimes=2               fails the first two attempts of each delivery
  ${controlUrl}/hooks/hang                      never answers
  ${controlUrl}/hooks/cut                       cuts the connection

  PUT ${controlUrl}/control   {"status", "delayMs", "failTimes", "mode": "answer" | "hang" | "cut"}

`;
}
