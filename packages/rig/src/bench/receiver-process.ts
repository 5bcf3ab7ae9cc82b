import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { answerParent } from "./child.ts";

/** What the parent may ask of the receiver. */
export type ReceiverRequest =
  | { type: "listen"; cert: string; key: string }
  | { type: "count" }
  /** Forgets what came so far. */
  | { type: "reset" }
  /** How often each event came, by the id in its body. */
  | { type: "arrivals" };

export interface Arrivals {
  /** Different events, at different paths. */
  different: number;
  /** Requests beyond the first of the same event at the same path. */
  repeated: number;
}

let count = 0;
const arrivals = new Map<string, number>();

/** Every body begins with `{"id":"`, and a UUID. */
const ID_START = 7;
const ID_END = ID_START + 36;

answerParent<ReceiverRequest>((request) => {
  if (request.type === "listen") return listen(request);
  if (request.type === "count") return count;
  if (request.type === "reset") {
    arrivals.clear();
    count = 0;
    return undefined;
  }
  const total = [...arrivals.values()].reduce((sum, times) => sum + times, 0);
  return { different: arrivals.size, repeated: total - arrivals.size } satisfies Arrivals;
});

function listen({ cert, key }: { cert: string; key: string }): Promise<number> {
  const server = createServer({ cert, key, keepAlive: true, keepAliveTimeout: 60_000 }, (request, response) => {
    let head = "";
    request.on("data", (chunk: Buffer) => {
      if (head.length < ID_END) head += chunk.toString("latin1", 0, ID_END);
    });
    request.on("end", () => {
      count += 1;
      const arrival = `${request.url} ${head.slice(ID_START, ID_END)}`;
      arrivals.set(arrival, (arrivals.get(arrival) ?? 0) + 1);
      response.writeHead(204).end();
    });
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}
