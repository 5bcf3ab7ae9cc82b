import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { type RejectionReason, verify } from "@herald/receiver";
import { answerParent } from "../../child.ts";
import { type Behaviour, planBehaviour } from "../plan/behaviour.ts";
import type { Character, Period } from "../plan/tenants.ts";
import type { ReceivedRequest } from "../verdict/history.ts";

/** The requests of the parent. Each receiver is a server of its own. */
export type ReceiverRequest =
  /** Answers with `count` ports, one for each receiver. */
  | {
      type: "listen";
      count: number;
      cert: string;
      key: string;
      seed: number;
      outages: Period[];
      attemptTimeoutMs: number;
    }
  /** An endpoint of this number is at the path `/<number>` of the receiver of this number. */
  | { type: "endpoint"; number: number; id: string; character: Character; secret: string }
  /** The run begins: the outages count from here. */
  | { type: "begin" }
  /** From now on this receiver, or each of them, refuses connections: what it has begun it ends. */
  | { type: "refuse"; receiver: number | "all"; refuses: boolean }
  /** From now on no connection is used twice. */
  | { type: "forget"; forgets: boolean }
  /** New connections of each receiver get this certificate. */
  | { type: "renew"; cert: string; key: string }
  /** From now on the crowd answers slowly. */
  | { type: "slow"; isSlow: boolean }
  | { type: "requests" }
  /** The longest time for which the machine had none for this process since the run began, in milliseconds. */
  | { type: "stoodStillMs" };

type Endpoint = Extract<ReceiverRequest, { type: "endpoint" }>;

const endpoints = new Map<string, Endpoint>();
const requests: ReceivedRequest[] = [];
/** Requests so far of each delivery. */
const seen = new Map<string, number>();
/** The TCP connections behind the TLS ones, by the ports of both ends: only they can be reset. */
const connections = new Map<string, Socket>();
/** The requests of an open connection so far, and those without an answer yet. */
interface Requests {
  all: number;
  underWay: number;
}
/** In the order of the receivers' numbers. */
const listeners: { server: Server; port: number; open: Map<Socket, Requests> }[] = [];
const refusing = new Set<number | "all">();
let forgets = false;
let isSlow = false;
let plan: Extract<ReceiverRequest, { type: "listen" }>;
let begunAt = Number.POSITIVE_INFINITY;
let closing: NodeJS.Timeout | undefined;
const turns = monitorEventLoopDelay({ resolution: 10 });

answerParent<ReceiverRequest>((request) => {
  switch (request.type) {
    case "listen":
      plan = request;
      return listen(request);
    case "endpoint":
      return void endpoints.set(`/${request.number}`, request);
    case "begin":
      begunAt = Date.now();
      turns.enable();
      return undefined;
    case "refuse":
      if (request.refuses) refusing.add(request.receiver);
      else refusing.delete(request.receiver);
      for (const number of listeners.keys()) openOrClose(number);
      return undefined;
    case "forget":
      forgets = request.forgets;
      closeIdle();
      return undefined;
    case "renew":
      for (const { server } of listeners) server.setSecureContext(request);
      return undefined;
    case "slow":
      isSlow = request.isSlow;
      return undefined;
    case "requests":
      return requests;
    case "stoodStillMs":
      return Math.ceil(turns.max / 1_000_000);
  }
});

async function listen({ count, cert, key }: { count: number; cert: string; key: string }): Promise<number[]> {
  for (let number = 0; number < count; number++) {
    const open = new Map<Socket, Requests>();
    const server = createServer({ cert, key, keepAlive: true, keepAliveTimeout: 60_000 }, (request, response) =>
      receive(request, response, open.get(request.socket)),
    );
    server.on("secureConnection", (socket: Socket) => {
      open.set(socket, { all: 0, underWay: 0 });
      socket.on("close", () => open.delete(socket));
    });
    server.on("connection", (socket: Socket) => {
      const ends = endsOf(socket);
      connections.set(ends, socket);
      socket.on("close", () => connections.delete(ends));
    });
    server.on("tlsClientError", () => undefined);
    server.on("clientError", (_error, socket) => socket.destroy());
    // Somebody else may have got the port of a receiver that restarts.
    server.on("error", () => setTimeout(() => openOrClose(number), AGAIN_MS));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    listeners.push({ server, port: (server.address() as AddressInfo).port, open });
  }
  return listeners.map(({ port }) => port);
}

const AGAIN_MS = 100;
/** As soon as a request of before has its answer. */
const CLOSE_EVERY_MS = 20;

/** Lets a receiver listen or not, as those who refuse say. */
function openOrClose(number: number): void {
  const { server, port } = listeners[number] as (typeof listeners)[number];
  const opens = !refusing.has(number) && !refusing.has("all");
  if (opens && !server.listening) server.listen(port, "127.0.0.1");
  if (opens || !server.listening) return;
  server.close();
  closeIdle();
}

/**
 * Repeats itself while a receiver refuses or forgets, so that no earlier connection is used again. Node's own `closeIdleConnections` takes for idle
 * also a connection with a second request, while the first one's answer has left and its end is not reported yet.
 */
function closeIdle(): void {
  if (refusing.size === 0 && !forgets) return;
  for (const { server, open } of listeners) {
    if (!forgets && server.listening) continue;
    for (const [socket, { underWay }] of open) if (underWay === 0) socket.destroy();
  }
  clearTimeout(closing);
  closing = setTimeout(closeIdle, CLOSE_EVERY_MS);
}

function endsOf({ localPort, remotePort }: Socket): string {
  return `${localPort}/${remotePort}`;
}

function receive(
  request: IncomingMessage,
  response: ServerResponse,
  ofConnection: Requests = { all: 0, underWay: 0 },
): void {
  const at = Date.now();
  const endpoint = endpoints.get(request.url ?? "");
  if (!endpoint) return void response.writeHead(404).end();
  const wasUsed = ofConnection.all > 0;
  ofConnection.all++;
  ofConnection.underWay++;
  response.on("close", () => ofConnection.underWay--);
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("error", () => undefined);
  response.on("error", () => undefined);
  // Ignore truncated requests: the sender died in the middle, so no receiver could act on them.
  request.on("end", () => judge(request, response, endpoint, { at, wasUsed, body: Buffer.concat(chunks) }));
}

function judge(
  request: IncomingMessage,
  response: ServerResponse,
  endpoint: Endpoint,
  { at, wasUsed, body }: { at: number; wasUsed: boolean; body: Buffer },
): void {
  const verdict = verify({ secret: endpoint.secret, headers: request.headersDistinct, body });
  const deliveryId = request.headersDistinct["x-service-delivery-id"]?.[0] ?? "";
  const untimely = !verdict.ok && UNTIMELY.has(verdict.reason) ? verdict.message : null;
  const record: ReceivedRequest = {
    endpointId: endpoint.id,
    deliveryId,
    at,
    forgery: verdict.ok || untimely ? null : verdict.message,
    untimely,
    bodyHash: createHash("sha256").update(body).digest("base64"),
    outcome: "unanswered",
    endedAt: Number.MAX_SAFE_INTEGER,
    resetWhenReused: false,
    acceptedLate: false,
  };
  requests.push(record);
  // By the event, whose id is of the plan; a delivery's is not.
  const delivery = (verdict.ok && verdict.eventId) || deliveryId;
  const key = `${endpoint.number}/${delivery}`;
  const nth = (seen.get(key) ?? 0) + 1;
  seen.set(key, nth);
  const { character, number } = endpoint;
  const state = { endpoint: number, character, isOut: isOut(at), isSlow };
  const behaviour: Behaviour = untimely
    ? { does: "answers", status: 401, afterMs: 0 }
    : planBehaviour(plan.seed, state, delivery, nth);
  response.shouldKeepAlive = !forgets && listeners[number]?.server.listening === true;
  response.on("close", () => ended(record));
  act(behaviour, request, response, record, wasUsed);
}

const UNTIMELY: ReadonlySet<RejectionReason> = new Set(["timestamp_too_old", "timestamp_too_new"]);

function isOut(at: number): boolean {
  return plan.outages.some(({ fromMs, untilMs }) => at >= begunAt + fromMs && at < begunAt + untilMs);
}

/** The first end counts: what is sent behind an answer changes nothing about it. */
function ended(record: ReceivedRequest, outcome?: ReceivedRequest["outcome"]): void {
  if (record.endedAt !== Number.MAX_SAFE_INTEGER) return;
  record.endedAt = Date.now();
  if (outcome) record.outcome = outcome;
}

function act(
  behaviour: Behaviour,
  { socket }: IncomingMessage,
  response: ServerResponse,
  record: ReceivedRequest,
  wasUsed: boolean,
): void {
  const accept = (headers: Record<string, string> = {}) => {
    if (response.destroyed) return false;
    response.writeHead(200, headers);
    response.flushHeaders();
    ended(record, "accepted");
    return true;
  };
  switch (behaviour.does) {
    case "answers": {
      const { status, afterMs } = behaviour;
      setTimeout(() => {
        if (response.destroyed) return;
        response
          .writeHead(status, status >= 300 && status < 400 ? { location: "https://127.0.0.1/elsewhere" } : {})
          .end();
        ended(record, status < 300 ? "accepted" : "refused");
      }, afterMs);
      return;
    }
    case "answers-late":
      setTimeout(() => {
        ended(record);
        if (response.destroyed) return;
        record.acceptedLate = true;
        response.writeHead(200).end();
      }, plan.attemptTimeoutMs + 500);
      return;
    case "hangs":
      return;
    case "resets":
      record.resetWhenReused = wasUsed;
      connections.get(endsOf(socket))?.resetAndDestroy();
      return;
    case "breaks-off":
      socket.write("HTTP/1.1 200 OK\r\nContent-Le", () => socket.destroy());
      return;
    case "cuts-body":
      if (accept({ "content-length": "1000" })) response.write("not all of it", () => socket.destroy());
      return;
    case "drips-body":
      if (!accept()) return;
      drip(response, 30);
      return;
    case "garbles-body":
      // From its first byte past node's server, which holds back a head for as long as it believes the answer before to be on its way.
      ended(record, "accepted");
      socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\nno chunk\r\n");
      return;
    case "processes-first":
      response.writeProcessing();
      response.writeEarlyHints({ link: "</style.css>; rel=preload; as=style" });
      if (accept()) response.end("taken");
      return;
  }
}

function drip(response: ServerResponse, times: number): void {
  if (response.destroyed) return;
  if (times === 0) return void response.end();
  response.write(".");
  setTimeout(() => drip(response, times - 1), 100);
}
