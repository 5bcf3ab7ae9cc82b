import type { ServerResponse } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { answerParent } from "@herald/e2e/child";
import { busyPercent, sharedNow } from "./busy.ts";

/** What the parent may ask of the receiver. It answers 204 at once, unless told otherwise. */
export type ReceiverRequest =
  | { type: "listen"; cert: string; key: string }
  /** Requests that were answered with success, by path. */
  | { type: "counts" }
  /** Forgets what came so far. */
  | { type: "reset" }
  | { type: "arrivals" }
  /** From now on answers so at this path; what is not said is as at first. */
  | { type: "answer"; path: string; behaviour: Partial<Behaviour> }
  /** Leaves requests to these paths without an answer; answers those that hung before to others. */
  | { type: "hang"; paths: string[] }
  /** From now on closes each connection with its answer. */
  | { type: "keepNoConnections" }
  /** Begins to note how many requests to this path it has at once. */
  | { type: "watch"; path: string }
  | { type: "watched" }
  | { type: "busy" };

export interface Behaviour {
  /** On average: by chance up to half of it sooner or later, since no receivers answer in step. Exact where `exact`. */
  afterMs: number;
  exact: boolean;
  status: number;
  /** Every second request is answered with 503 instead. */
  failsHalf: boolean;
}

export interface Arrivals {
  /** Different events, by path. */
  different: Record<string, number>;
  /** Requests beyond the first of the same event at the same path. */
  repeated: number;
  /** From the emitter's plan to the receiver having the whole request, in milliseconds; none of paths that hang. */
  delays: number[];
  /** When each of these events was planned, in milliseconds of the clock that all processes share. */
  plannedAt: number[];
}

/** A request that came to the watched path. */
export interface Watched {
  /** After the first one, in milliseconds. */
  atMs: number;
  /** Requests that were without an answer then, this one included. */
  atOnce: number;
  /** Requests that had been answered before. */
  answered: number;
}

const AT_ONCE: Behaviour = { afterMs: 0, exact: false, status: 204, failsHalf: false };

let counts = new Map<string, number>();
const arrivals = new Map<string, number>();
let delays: number[] = [];
let plannedAt: number[] = [];
const behaviours = new Map<string, Behaviour>();
/** Paths whose next request fails. */
const failingNext = new Set<string>();
let hanging: ReadonlySet<string> = new Set();
const hung = new Map<ServerResponse, { path: string; body: string }>();
let keepsConnections = true;
let watch: { path: string; startedAt: number; open: number; answered: number; seen: Watched[] } | undefined;

/** Every body begins with `{"id":"`, and a UUID. */
const ID_START = 7;
const ID_END = ID_START + 36;
const EMITTED = /"Emitted":\{"oldValue":null,"newValue":"([0-9.]+)"/;

answerParent<ReceiverRequest>((request) => {
  switch (request.type) {
    case "listen":
      return listen(request);
    case "counts":
      return Object.fromEntries(counts);
    case "reset":
      arrivals.clear();
      delays = [];
      plannedAt = [];
      counts = new Map();
      return undefined;
    case "arrivals":
      return arrivalsSoFar();
    case "answer":
      behaviours.set(request.path, { ...AT_ONCE, ...request.behaviour });
      return undefined;
    case "hang":
      hanging = new Set(request.paths);
      for (const [response, { path, body }] of hung) {
        if (hanging.has(path)) continue;
        hung.delete(response);
        record(path, body);
        answer(response, 204);
      }
      return undefined;
    case "keepNoConnections":
      keepsConnections = false;
      return undefined;
    case "watch":
      watch = { path: request.path, startedAt: 0, open: 0, answered: 0, seen: [] };
      return undefined;
    case "watched":
      return watch?.seen ?? [];
    case "busy":
      return busyPercent();
  }
});

function listen({ cert, key }: Pick<ServerOptions, "cert" | "key">): Promise<number> {
  const server = createServer({ cert, key, keepAlive: true, keepAliveTimeout: 60_000 }, (request, response) => {
    let body = "";
    request.setEncoding("latin1").on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => handle(request.url ?? "", body, response));
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

function handle(path: string, body: string, response: ServerResponse): void {
  if (hanging.has(path)) {
    hung.set(response, { path, body });
    response.on("close", () => hung.delete(response));
    return;
  }
  const { afterMs, exact, failsHalf, ...behaviour } = behaviours.get(path) ?? AT_ONCE;
  const status = failsHalf && failsNow(path) ? 503 : behaviour.status;
  const answered = watch?.path === path ? see(watch) : undefined;
  if (status < 300) {
    const emitted = EMITTED.exec(body)?.[1];
    if (emitted !== undefined) {
      delays.push(sharedNow() - Number(emitted));
      plannedAt.push(Number(emitted));
    }
    record(path, body);
  }
  if (afterMs === 0) finish();
  else void sleep(exact ? afterMs : afterMs * (0.5 + Math.random())).then(finish);

  function finish(): void {
    // Before the answer goes: whoever has it may send the next one.
    answered?.();
    answer(response, status);
  }
}

function failsNow(path: string): boolean {
  if (failingNext.delete(path)) return true;
  failingNext.add(path);
  return false;
}

function see(own: NonNullable<typeof watch>): () => void {
  const now = performance.now();
  if (own.seen.length === 0) own.startedAt = now;
  own.open += 1;
  own.seen.push({ atMs: now - own.startedAt, atOnce: own.open, answered: own.answered });
  return () => {
    own.open -= 1;
    own.answered += 1;
  };
}

function record(path: string, body: string): void {
  counts.set(path, (counts.get(path) ?? 0) + 1);
  const arrival = `${path} ${body.slice(ID_START, ID_END)}`;
  arrivals.set(arrival, (arrivals.get(arrival) ?? 0) + 1);
}

function arrivalsSoFar(): Arrivals {
  const different: Record<string, number> = {};
  let total = 0;
  for (const [arrival, times] of arrivals) {
    const path = arrival.slice(0, arrival.indexOf(" "));
    different[path] = (different[path] ?? 0) + 1;
    total += times;
  }
  return { different, repeated: total - arrivals.size, delays, plannedAt };
}

function answer(response: ServerResponse, status: number): void {
  response.shouldKeepAlive = keepsConnections;
  response.writeHead(status).end();
}
