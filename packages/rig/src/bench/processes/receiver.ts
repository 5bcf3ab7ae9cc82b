import type { ServerResponse } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { answerParent } from "../../child.ts";
import { busyPercent, sharedNow } from "./busy.ts";

/** What the parent may ask of the receiver. It answers 204 at once, unless told to hang. */
export type ReceiverRequest =
  | { type: "listen"; cert: string; key: string }
  | { type: "count" }
  /** Forgets what came so far. */
  | { type: "reset" }
  | { type: "arrivals" }
  /** Leaves requests to these paths without an answer; answers those that hung before to others. */
  | { type: "hang"; paths: string[] }
  | { type: "busy" };

export interface Arrivals {
  /** Different events, at different paths. */
  different: number;
  /** Requests beyond the first of the same event at the same path. */
  repeated: number;
  /** From the emitter's plan to the receiver having the whole request, in milliseconds; none of paths that hang. */
  delays: number[];
}

let count = 0;
const arrivals = new Map<string, number>();
let delays: number[] = [];
let hanging: ReadonlySet<string> = new Set();
const hung = new Map<ServerResponse, { path: string; body: string }>();

/** Every body begins with `{"id":"`, and a UUID. */
const ID_START = 7;
const ID_END = ID_START + 36;
const EMITTED = /"Emitted":\{"oldValue":null,"newValue":"([0-9.]+)"/;

answerParent<ReceiverRequest>((request) => {
  switch (request.type) {
    case "listen":
      return listen(request);
    case "count":
      return count;
    case "reset":
      arrivals.clear();
      delays = [];
      count = 0;
      return undefined;
    case "arrivals": {
      const total = [...arrivals.values()].reduce((sum, times) => sum + times, 0);
      return { different: arrivals.size, repeated: total - arrivals.size, delays } satisfies Arrivals;
    }
    case "hang":
      hanging = new Set(request.paths);
      for (const [response, { path, body }] of hung) {
        if (hanging.has(path)) continue;
        record(path, body);
        answer(response);
      }
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
    request.on("end", () => {
      const path = request.url ?? "";
      if (hanging.has(path)) {
        hung.set(response, { path, body });
        response.on("close", () => hung.delete(response));
        return;
      }
      const emitted = EMITTED.exec(body)?.[1];
      if (emitted !== undefined) delays.push(sharedNow() - Number(emitted));
      record(path, body);
      answer(response);
    });
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

function record(path: string, body: string): void {
  count += 1;
  const arrival = `${path} ${body.slice(ID_START, ID_END)}`;
  arrivals.set(arrival, (arrivals.get(arrival) ?? 0) + 1);
}

function answer(response: ServerResponse): void {
  hung.delete(response);
  response.writeHead(204).end();
}
