import type { ServerResponse } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { answerParent } from "@herald/e2e/child";
import { busyPercent, sharedNow } from "./busy.ts";

/** The requests of the parent. The receiver answers 204 at once by default. */
export type ReceiverRequest =
  | { type: "listen"; cert: string; key: string }
  /** Requests that were answered with success, by path. */
  | { type: "counts" }
  /** Forgets what came so far. */
  | { type: "reset" }
  | { type: "arrivals" }
  /** From now on answers so at these paths; what is not said is as at first. */
  | { type: "answer"; paths: readonly string[]; behaviour: Partial<Behaviour> }
  | { type: "busy" };

export interface Behaviour {
  /** On average: by chance up to half of it sooner or later, since no receivers answer in step. Exact where `exact`. */
  afterMs: number;
  exact: boolean;
}

export interface Arrivals {
  /** Different events, by path. */
  different: Record<string, number>;
  /** Requests beyond the first of the same event at the same path. */
  repeated: number;
  /** From the emitter's plan to the receiver having the whole request, in milliseconds. */
  delays: number[];
  /** The paths where they arrived. */
  paths: string[];
}

const AT_ONCE: Behaviour = { afterMs: 0, exact: false };

let counts = new Map<string, number>();
const arrivals = new Map<string, number>();
let delays: number[] = [];
let paths: string[] = [];
const behaviours = new Map<string, Behaviour>();

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
      paths = [];
      counts = new Map();
      return undefined;
    case "arrivals":
      return arrivalsSoFar();
    case "answer":
      for (const path of request.paths) behaviours.set(path, { ...AT_ONCE, ...request.behaviour });
      return undefined;
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
  const { afterMs, exact } = behaviours.get(path) ?? AT_ONCE;
  const emitted = EMITTED.exec(body)?.[1];
  if (emitted !== undefined) {
    delays.push(sharedNow() - Number(emitted));
    paths.push(path);
  }
  record(path, body);
  if (afterMs === 0) answer(response);
  else void sleep(exact ? afterMs : afterMs * (0.5 + Math.random())).then(() => answer(response));
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
  return { different, repeated: total - arrivals.size, delays, paths };
}

function answer(response: ServerResponse): void {
  response.writeHead(204).end();
}
