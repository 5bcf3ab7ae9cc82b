import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { ReceivedRequest } from "@herald/listen";
import { type Behaviour, politeBehaviour, withChanges } from "./behaviour.ts";

/** A request as `GET /requests` shows it. */
export interface LoggedRequest {
  /** Counts from 1, without gaps. */
  number: number;
  receivedAt: string;
  method: string;
  path: string;
  headers: [name: string, value: string][];
  bodyBase64: string;
  verified: boolean;
  /** Why it was not verified; null where it was. */
  reason: string | null;
  /** From the verified body. */
  event: string | null;
  eventId: string | null;
  /** Null where the connection was cut or left without an answer. */
  status: number | null;
}

export interface RequestLog {
  add(request: ReceivedRequest, status: number | null): void;
  /** The stored requests with greater numbers, oldest first. */
  after(number: number): LoggedRequest[];
  total(): number;
}

/** Keeps the latest requests, up to a number of them and of bytes of their bodies. */
export function requestLog({ capacity = 1000, capacityBytes = 32 * 1024 * 1024 } = {}): RequestLog {
  const kept: LoggedRequest[] = [];
  let keptBytes = 0;
  let total = 0;

  return {
    add({ receivedAt, method, path, headers, body, verdict }, status) {
      total++;
      const bodyBase64 = Buffer.from(body).toString("base64");
      kept.push({
        number: total,
        receivedAt: receivedAt.toISOString(),
        method,
        path,
        headers,
        bodyBase64,
        verified: verdict.ok,
        reason: verdict.ok ? null : verdict.reason,
        event: verdict.ok ? verdict.event : null,
        eventId: verdict.ok ? verdict.eventId : null,
        status,
      });
      keptBytes += bodyBase64.length;
      while (kept.length > capacity || keptBytes > capacityBytes) keptBytes -= kept.shift()?.bodyBase64.length ?? 0;
    },
    after: (number) => kept.filter((request) => request.number > number),
    total: () => total,
  };
}

export interface Controlled {
  log: RequestLog;
  /** What holds for endpoints whose URL asks for nothing else. */
  standing: Behaviour;
}

type Route = (controlled: Controlled, url: URL, body: Record<string, unknown>) => { status: number; json?: unknown };

const routes: Record<string, Route> = {
  "GET /requests": ({ log }, url) => ({
    status: 200,
    json: { total: log.total(), requests: log.after(Number(url.searchParams.get("after") ?? 0)) },
  }),
  "PUT /control": (controlled, _url, body) => {
    controlled.standing = withChanges(politeBehaviour, body);
    return { status: 200, json: controlled.standing };
  },
};

/** Whether a request is the operator's, not a delivery. */
export function isControl(request: IncomingMessage, url: URL): boolean {
  return `${request.method} ${url.pathname}` in routes;
}

/** Answers the operator. Bodies must say that they are JSON, which no foreign page in a browser can do unasked. */
export async function control(
  controlled: Controlled,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  try {
    const { status, json } = routes[`${request.method} ${url.pathname}`]?.(
      controlled,
      url,
      await readJson(request),
    ) ?? {
      status: 404,
    };
    answer(response, status, json);
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
  response.writeHead(status, json === undefined ? {} : { "Content-Type": "application/json" });
  response.end(json === undefined ? undefined : `${JSON.stringify(json)}\n`);
}

/** The answer to a browser. */
export function help(controlUrl: string): string {
  return `Herald's demo receiver. Point an endpoint at ${controlUrl}/hooks and it answers 200 to what verifies.

  ${controlUrl}/hooks?status=500&delayMs=2000   answers so, that late
  ${controlUrl}/hooks?failTimes=2               fails the first two attempts of each delivery
  ${controlUrl}/hooks/hang                      never answers
  ${controlUrl}/hooks/cut                       cuts the connection

  GET ${controlUrl}/requests   what arrived (?after=<number>)
  PUT ${controlUrl}/control    {"status", "delayMs", "failTimes", "mode": "answer" | "hang" | "cut"}

`;
}
